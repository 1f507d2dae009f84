"""The types of results that users read and never write, wherever they are defined; each loads when it is first used."""

import ast
from importlib import import_module
from pathlib import Path

from bayesnb.compute.arrays._extras import needed_by

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_HOMES = {node.names[0].name: str(node.module) for node in _LISTED if isinstance(node, ast.ImportFrom)}

__all__ = tuple(_HOMES)


def __getattr__(name: str) -> object:
    """The type of a result, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesnb.results' has no attribute {name!r}")
    with needed_by(f"results.{name}", _HOMES[name].split(".")[1]):
        return getattr(import_module(_HOMES[name]), name)
