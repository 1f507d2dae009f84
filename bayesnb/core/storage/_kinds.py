"""The types that files hold, each by its name there: how it is written, read and checked.

A wing registers its own in the module that ``HOMES`` names, which is imported where a value or a file has one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from bayesnb.compute.arrays._extras import needed_by

Check = TypeVar("Check", bound=Callable[..., Any])

HOMES = dict.fromkeys(
    ("ForestPosterior", "ForestStatistics", "StackedPosterior", "PairStatistics", "JointStatistics"),
    "bayesnb.learned.forests._saved_forests",
) | dict.fromkeys(
    ("NaiveBayesClassifier", "Held", "estimator", "Schema", "BlocksSchema", "Reading", "Column", "WordColumn",
     "Summary", "Texts", "RowSample", "index", "arrow", "vectorizer"),
    "bayesnb.tables.files.storage._saved_estimators",
)  # fmt: skip
"""The modules that register what wings above add, by the names of types and of what files hold."""


def no_result(value: Any) -> Any:
    """The check of what is no result."""
    raise ValueError(f"a {type(value).__name__} is not a result")


def no_rows(*_: Any) -> Any:
    """Of what keeps no rows."""
    raise ValueError("rows=True writes the rows that partial_fit has kept, and it has none: leave it out")


class Kind(NamedTuple):
    """How values of a type are stored: as the fields of a node, unless there is another way to write and read them.

    Attributes:
        name: Its name in files.
        type: The type.
        effects: Fields that follow from the others, and are not stored.
        check: Gives a result from its stored parts; ValueError, naming the part, unless a fit or a user could have made
            them.
        write: What is stored of a value, or a list of what is; it has values of simpler kinds.
        read: The value from these.
        rows: What is stored of a result on request, the rows that it keeps; and gives a result its rows again.
        public: The result that ``load`` returns, from what is read.
    """

    name: str
    type: Any
    effects: tuple[str, ...] = ()
    check: Callable[[Any], Any] = no_result
    write: Callable[[Any], Any] | None = None
    read: Callable[..., Any] | None = None
    rows: tuple[Callable[[Any], Any], Callable[[Any, Any], None]] = (no_rows, no_rows)
    public: Callable[[Any], Any] = lambda result: result


STORED: dict[str, Kind] = {}


def store(*types: Any, effects: tuple[str, ...] = ()) -> Callable[[Check], Check]:
    """Register types whose fields are stored, with the check that follows."""

    def register(check: Check) -> Check:
        STORED.update({one.__name__: Kind(one.__name__, one, effects, check) for one in types})
        return check

    return register


def find_kind(name: str) -> Kind | None:
    """The kind of this name; None if there is none."""
    if name not in STORED and name in HOMES:
        with needed_by("the file of an estimator", "tables"):
            import_module(HOMES[name])
    return STORED.get(name)


def kind_of(value: Any) -> Kind | None:
    """The kind of a value; None if there is none, as for a node of a type that is derived from another."""
    own = find_kind(type(value).__name__)
    if own is not None and own.type is type(value) and not own.write:
        return own
    return next((kind for kind in STORED.values() if kind.write and isinstance(value, kind.type)), None)


def rebuild(result: Any) -> Any:
    """The result from its stored parts, by the check of its kind."""
    kind = kind_of(result)
    return kind.check(result) if kind else no_result(result)
