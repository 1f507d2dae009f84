"""The options `--model FILE` and `--model-arg NAME=VALUE`: a NumPyro program in a Python file, and its arguments."""

from __future__ import annotations

import ast
import inspect
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

PROGRAM = "model"
"""The name of a file's program, if it has several functions."""


class ModelArgument(click.ParamType):
    """The parameter type of `NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse `NAME=VALUE`; the value is JSON, a Python literal, or a word."""
        if isinstance(value, tuple):
            return value
        name, equals, text = (part.strip() for part in value.partition("="))
        if not equals or not name.isidentifier() or not text:
            self.fail(f"'{value}' is not NAME=VALUE, such as num_categories=4", param, ctx)
        for parse in (json.loads, ast.literal_eval):
            try:
                return name, parse(text)
            except (ValueError, SyntaxError):
                pass
        if not text.isidentifier():
            self.fail(f"'{text}' in '{value}' is not a number, a list such as [1, 2], or a word", param, ctx)
        return name, text


def load_program(place: str) -> Callable[..., Any]:
    """The program that `FILE` or `FILE:FUNCTION` names; the file runs.

    Raises:
        DataError: if there is no such file or function, the file fails, or several functions may be meant.
    """
    from bayesnb.frames.series import DataError, closest

    file, colon, name = place.rpartition(":")
    if not colon or Path(place).is_file():
        file, name = place, ""
    path = Path(file)
    if not path.is_file():
        raise DataError(f"there is no model file '{path}'")
    if path.suffix != ".py":
        raise DataError(f"'{path}' is not a model file: give a Python file with a NumPyro program, such as normal.py")
    functions = {
        key: value
        for key, value in _run(path).items()
        if inspect.isfunction(value) and value.__module__ == _module_name(path) and not key.startswith("_")
    }
    if name:
        if name not in functions:
            raise DataError(f"'{path}' has no function '{name}'{closest(name, functions) or _listing(functions)}")
        return functions[name]
    if PROGRAM in functions or len(functions) == 1:
        return functions.get(PROGRAM) or next(iter(functions.values()))
    if not functions:
        raise DataError(f"'{path}' has no function: a program is a function with numpyro.sample in it")
    raise DataError(f"'{path}' has several functions{_listing(functions)}; give --model {path}:{next(iter(functions))}")


def _run(path: Path) -> dict[str, Any]:
    """What the file defines; the files beside it can be imported, as by `python FILE`."""
    from bayesnb.frames.series import DataError

    sys.path.insert(0, str(path.resolve().parent))
    try:
        return runpy.run_path(str(path), run_name=_module_name(path))
    except (Exception, SystemExit) as error:
        words = " ".join(str(error).split())
        raise DataError(f"running '{path}' failed: {type(error).__name__}{f': {words}' if words else ''}") from error
    finally:
        sys.path.pop(0)


def _module_name(path: Path) -> str:
    return f"model_file_{path.stem}"


def _listing(functions: dict[str, Any]) -> str:
    return f": {', '.join(functions)}" if functions else ""
