"""The public names of the package."""

import ast
import inspect
from pathlib import Path

import bayesnb as nb


def public_names() -> set[str]:
    """All that a user may call: of the package, its plots, its scikit-learn classes and the types of its results."""
    own = {name for name in nb.__all__ if not inspect.ismodule(getattr(nb, name))}
    plots = {f"plots.{name}" for name in vars(nb.plots) if not name.startswith("_") and name in exported()}
    elsewhere = {f"{home}.{name}" for home in ("sklearn", "results") for name in getattr(nb, home).__all__}
    return own | plots | elsewhere


def exported() -> set[str]:
    """The names that ``bayesnb.plots`` exports, ``name as name``."""
    tree = ast.parse(Path(nb.plots.__file__).read_text(encoding="utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {alias.asname for node in imported for alias in node.names}
    return {name for name in names if name and not name.startswith("_")}
