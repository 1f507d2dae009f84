"""The command line. Libraries are imported inside the functions that use them, so that `--help` is fast."""

import click

from bayesnb import __version__
from bayesnb.studies.cli._compare_command import compare
from bayesnb.studies.cli._experiment_command import experiment
from bayesnb.studies.cli._model_commands import explain, fit, predict
from bayesnb.studies.cli._options import OneSentence


@click.group(cls=OneSentence, invoke_without_command=True)
@click.version_option(__version__)
@click.pass_context
def main(context: click.Context) -> None:
    """Learn to predict a column of a table from the others, with a probability for each of its values.

    The tables are CSV or Parquet files, and the model is Naive Bayes: `fit` learns it and saves it, `predict` and
    `explain` use it on new rows, and `compare` shows how good its probabilities are on yours; `experiment` compares
    methods on several tables.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (compare, experiment, fit, predict, explain):
    command.short_help = str(command.help).partition("\n\n")[0]  # click cuts others after a line
    main.add_command(command)
