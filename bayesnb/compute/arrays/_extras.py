"""Packages that an extra brings: what needs one that is not installed says so, and which extra has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

TABLES, STUDIES = "pandas and scikit-learn", "pandas, scikit-learn, click, rich, jinja2 and matplotlib"
"""What names of these wings need, in words."""

EXTRAS = {
    **dict.fromkeys(("pandas", "pyarrow", "narwhals", "sklearn"), "tables"),
    **dict.fromkeys(("click", "rich", "jinja2", "markupsafe", "matplotlib", "arviz", "xarray"), "studies"),
}
"""The extra of each package, by the name that is imported."""


@contextmanager
def needed_by(what: str, packages: str = "") -> Iterator[None]:
    """Where the package of an extra is not installed, the ModuleNotFoundError says which extra ``what`` needs.

    ``packages`` are its needs in words; by default the package that was not found.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None or "pip install" in str(error):
            raise
        words = f"{what} needs {packages or error.name}: pip install 'bayesnb[{extra}]'"
        raise ModuleNotFoundError(words, name=error.name) from None
