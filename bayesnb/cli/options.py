"""Shared parts of the commands: one-sentence error messages, and common options."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

FILE = click.Path(dir_okay=False, path_type=Path)


class OneSentence(click.Group):
    """A command group that reports every user error in one line on stderr, with exit status 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line; see `click.Command.main`."""
        standalone = options.get("standalone_mode", True)
        options["standalone_mode"] = False
        if not standalone:
            return super().main(*args, **options)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal without Unicode shows ? for unknown characters
                stream.reconfigure(errors="replace")
        try:
            status = super().main(*args, **options)
        except click.Abort:
            click.echo("\nbayesnb: stopped; nothing was written", err=True)
            sys.exit(130)
        except click.ClickException as error:
            _refuse(error)
        sys.exit(status if isinstance(status, int) else 0)


def _refuse(error: click.ClickException) -> NoReturn:
    context = getattr(error, "ctx", None)
    message = " ".join(error.format_message().split())
    if context is not None:  # a mistake in the options, not in the data
        message = f"{message.rstrip('.')} (see {context.command_path} --help)"
    click.echo(f"bayesnb: {message}", err=True)
    sys.exit(2)


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the package's errors about data and files turned into one-sentence command errors."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except ValueError as error:  # raised by the package, with a one-sentence message
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            place = f" '{error.filename}'" if error.filename else ""
            raise click.ClickException(f"reading or writing{place} failed: {error.strerror or error}") from error

    return run


class Override(click.ParamType):
    """The parameter type of `COLUMN=KIND`."""

    name = "column=kind"

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = (*kinds, "skip")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `COLUMN=KIND`; the column's name may contain an equals sign."""
        if isinstance(value, tuple):
            return value
        column, equals, kind = value.rpartition("=")
        if not equals or kind not in self.kinds:
            self.fail(f"'{value}' is not COLUMN=KIND with KIND one of {', '.join(self.kinds)}", param, ctx)
        return column, kind


target_option = click.option("--target", metavar="COLUMN", help="The column of classes.  [default: the last column]")


def override_option(*kinds: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option `--as COLUMN=KIND` for these kinds."""
    return click.option(
        "--as", "overrides", type=Override(kinds), multiple=True, metavar="COLUMN=KIND",
        help=f"Treat a column as {', '.join(kinds[:-1])} or {kinds[-1]}, or skip it; may be repeated. COLUMN may be a "
        "pattern such as 'pixel_*'.",
    )  # fmt: skip


seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Random seed."
)
