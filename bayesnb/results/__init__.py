"""The results of a fit: predictions, intervals, draws, evidence, generated rows.

They depend on models, not on how these were fitted. The types of all results that users read and never write have
their public names here, wherever they are defined: ``__init__.pyi`` lists them.
"""

import ast
from importlib import import_module
from pathlib import Path

_LISTED = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
_HOMES = {node.names[0].name: str(node.module) for node in _LISTED if isinstance(node, ast.ImportFrom)}

__all__ = tuple(_HOMES)


def __getattr__(name: str) -> object:
    """The type of a result, from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bayesnb.results' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
