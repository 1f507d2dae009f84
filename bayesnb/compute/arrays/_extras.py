"""Packages that an extra brings: what needs one that is not installed says so, and which extra has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

EXTRAS = {
    **dict.fromkeys(("pandas", "pyarrow", "narwhals", "sklearn", "joblib"), "tables"),
    **dict.fromkeys(("click", "rich", "jinja2", "markupsafe", "matplotlib", "PIL", "arviz", "xarray"), "studies"),
}
"""The extra of each package, by the name that is imported."""

NEEDS = {"tables": "pandas and scikit-learn", "studies": "pandas, scikit-learn and matplotlib"}
"""What names of these wings need before all, in words; their extras have the same names."""


class MissingExtra(ModuleNotFoundError):
    """A package that an extra brings is not installed; the message says which extra."""


@contextmanager
def needed_by(what: str, wing: str = "") -> Iterator[None]:
    """MissingExtra, in place of ModuleNotFoundError, says that ``what`` needs a package and which extra brings it.

    A name of a ``wing`` needs all of that; a wing without an extra needs none, and its error stays.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if isinstance(error, MissingExtra) or package not in EXTRAS or (wing and wing not in NEEDS):
            raise
        words = f"{what} needs {NEEDS.get(wing, package)}: pip install 'bayesnb[{wing or EXTRAS[package]}]'"
        raise MissingExtra(words, name=error.name) from None
