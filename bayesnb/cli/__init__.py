"""The command line. Libraries are imported inside the functions that use them, so that `--help` is fast."""

import click

from bayesnb import __version__
from bayesnb.cli.compare_command import compare
from bayesnb.cli.model_commands import explain, fit, predict
from bayesnb.cli.options import OneSentence


@click.group(cls=OneSentence, invoke_without_command=True)
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Naive Bayes as a probabilistic program: MLE, MAP, the exact posterior, and NUTS."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (compare, fit, predict, explain):
    main.add_command(command)
