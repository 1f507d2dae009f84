"""Shared parts of the commands: one-sentence error messages, options, and the program that `--model` names."""

from __future__ import annotations

import _thread
import functools
import inspect
import runpy
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

FILE = click.Path(dir_okay=False, path_type=Path)


class Whole(click.IntRange):
    """A whole number, which click calls an integer range."""

    name = "whole number"


class Number(click.FloatRange):
    """A number, which click calls a float range."""

    name = "number"


PROGRAM = "model"
"""The name of a file's program, if it has several functions."""


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
        before, sys.unraisablehook = sys.unraisablehook, _come_again
        try:
            status = super().main(*args, **options)
        except click.Abort:
            click.echo("\nbayesnb: stopped; nothing was written", err=True)
            sys.exit(130)
        except click.ClickException as error:
            _refuse(error)
        finally:
            sys.unraisablehook = before
        sys.exit(status if isinstance(status, int) else 0)


def _come_again(found: sys.UnraisableHookArgs) -> None:
    """Send a Ctrl-C again that Python dropped, as it came in a callback, such as JAX's of the garbage collector."""
    if found.exc_type is KeyboardInterrupt:
        threading.Timer(0.05, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(found)


def _refuse(error: click.ClickException) -> NoReturn:
    context = getattr(error, "ctx", None)
    message = " ".join(error.format_message().split())
    if context is not None:  # a mistake in the options, not in the data
        message = f"{message.rstrip('.')} (see {context.command_path} --help)"
    click.echo(f"bayesnb: {message}", err=True)
    sys.exit(2)


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """The command with warnings, and errors about data and files, as sentences on stderr."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings_as_sentences():
                command(*args, **kwargs)
        except ValueError as error:  # raised by the package, with a one-sentence message
            raise click.ClickException(str(error)) from error
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            place = f" '{error.filename}'" if error.filename else ""
            raise click.ClickException(f"reading or writing{place} failed: {error.strerror or error}") from error

    return run


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """Print each warning at once, and once, on stderr; other categories are for programmers, and are not shown."""
    said = set[str]()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        from tqdm import tqdm

        if category is UserWarning and str(message) not in said:
            said.add(str(message))
            with tqdm.external_write_mode(sys.stderr):  # above a progress bar
                click.secho(f"warning: {message}", fg="yellow", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


target_option = click.option("--target", metavar="COLUMN", help="The column of classes.  [default: the last column]")


def override_option(*kinds: str, others: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option `--as COLUMN=KIND` for these kinds; with ``others`` for any. The column's name may contain a `=`."""
    of_levels = ", and KIND a list of levels in order, low,mid,high" if others else ""

    def parse(given: str) -> tuple[str, str | list[str]]:
        column, equals, kind = given.rpartition("=")
        if equals and others and "," in kind:
            return column, [level.strip() for level in kind.split(",")]
        if not equals or not (others or kind in (*kinds, "skip")):
            raise click.BadParameter(f"'{given}' is not COLUMN=KIND with KIND one of {', '.join(kinds)}, skip")
        return column, kind

    return click.option(
        "--as", "overrides", type=parse, multiple=True, metavar="COLUMN=KIND",
        help=f"Treat a column as {', '.join(kinds[:-1])} or {kinds[-1]}{others}, or skip it; may be repeated. COLUMN "
        f"may be a pattern such as 'pixel_*'{of_levels}.",
    )  # fmt: skip


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options of how cells are read, which the command takes as the dict ``reading``."""

    @functools.wraps(command)
    def run(na_values: Sequence[str], default_na: bool, decimal: str, thousands: str, sep: str, **others: Any) -> None:
        reading = {"na_values": na_values or None, "keep_default_na": None if default_na else False}
        reading |= {"decimal": decimal, "thousands": thousands, "sep": {"\\t": "\t", "tab": "\t"}.get(sep, sep)}
        command(reading=reading, **others)

    marks = {"decimal": "between a number and its decimals", "thousands": "between thousands", "sep": "between cells"}
    for name, where in marks.items():
        run = click.option(f"--{name}", metavar="MARK", help=f"The mark {where} in a CSV file.")(run)
    of_others: Any = {"flag_value": False, "default": True, "help": "Only these and empty cells are missing."}
    run = click.option("--no-default-na", "default_na", **of_others)(run)
    return click.option("--na-values", multiple=True, metavar="TEXT", help="A missing cell; may be repeated.")(run)


seed_option = click.option("--seed", type=Whole(0, 2**32 - 1), default=0, show_default=True, help="Random seed.")


def load_program(place: str) -> Callable[..., Any]:
    """The program that `FILE` or `FILE:FUNCTION` names; the file runs.

    Raises:
        DataError: if there is no such file or function, the file fails, or several functions may be meant.
    """
    from bayesnb.tables.frames._values import DataError, closest

    file, colon, name = place.rpartition(":")
    if not colon or Path(place).is_file():
        file, colon, name = place, "", ""
    path = Path(file)
    if not path.is_file():
        raise DataError(f"there is no model file '{path}': give the path of a Python file with a NumPyro program")
    if path.suffix != ".py":
        raise DataError(f"'{path}' is not a model file: give a Python file with a NumPyro program, such as normal.py")
    module = f"model_file_{path.stem}"
    functions = {
        key: value
        for key, value in _run(path, module).items()
        if inspect.isfunction(value) and value.__module__ == module and not key.startswith("_")
    }
    if not functions:
        raise DataError(f"'{path}' has no function: a program is a function with numpyro.sample in it")
    listed, first = ", ".join(functions), next(iter(functions))
    name = name or (first if len(functions) == 1 else PROGRAM)
    if name in functions:
        return functions[name]
    if colon:
        raise DataError(f"'{path}' has no function '{name}'{closest(name, functions) or f': {listed}'}")
    raise DataError(f"'{path}' has several functions: {listed}; give --model {path}:{first}")


def _run(path: Path, module: str) -> dict[str, Any]:
    """What the file defines; the files beside it can be imported, as by `python FILE`."""
    from bayesnb.tables.frames._values import DataError

    sys.path.insert(0, str(path.resolve().parent))
    try:
        return runpy.run_path(str(path), run_name=module)
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        failed = f"running '{path}' failed: {type(error).__name__}{f': {words}' if words else ''}"
        raise DataError(f"{failed}; 'python {path}' shows where") from error
    finally:
        sys.path.pop(0)
