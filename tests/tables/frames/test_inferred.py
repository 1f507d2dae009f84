"""The likelihood that suits a column: one rule, whatever library holds the cells."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb
from bayesnb.tables.frames._columns import Column
from bayesnb.tables.frames._inferred import Choice, infer, table_of
from bayesnb.tables.frames._series import DataError, as_frame
from bayesnb.tables.frames._summaries import summarise_column

pytestmark = pytest.mark.filterwarnings("ignore:column")

NAMES = [f"name {i}" for i in range(30)]
KINDS = [
    ([0.0, 1.0, None, 1.0], "bernoulli", "zeros and ones"),
    ([0, 1, 1, 0], "bernoulli", "zeros and ones"),
    ([True, None, False], "bernoulli", "true and false"),
    (["TRUE", "false", "True", None], "bernoulli", "true and false"),
    (["true", "maybe", "TRUE"], "categorical", "text with 2 values"),
    ([2.5, -1.0] * 3, "categorical", "2 numbers"),
    ([1, 2] * 3, "categorical", "2 whole numbers"),
    ([1.0, 2.0], "normal", "numbers"),
    (["m", None, "f"], "categorical", "text with 2 values"),
    (list(range(10)) * 3, "categorical", "10 whole numbers"),
    (list(range(11)) * 3, "normal", "numbers"),
    ([0.5, 1.0, 2.0] * 9, "normal", "numbers"),
    (["a", "b", "c"] * 4, "categorical", "text with 3 values"),
    (NAMES, "skip", "a different text in nearly every row"),
    (NAMES[:28] + NAMES[:2], "skip", "a different text in nearly every row"),
    (NAMES[:20] + NAMES[:1] * 10, "categorical", "text with 20 values"),
    (NAMES[:8], "categorical", "text with 8 values"),  # too few rows to tell
    (list(range(7, 40)), "skip", "a number for each row"),
    (list(range(40, 7, -1)), "skip", "a number for each row"),
    (list(range(0, 60, 2)), "skip", "a number for each row"),  # of half of the rows
    ([*range(7, 40), 90], "normal", "numbers"),
    ([1, 2, 3, 4], "normal", "numbers"),  # too few rows to tell
    ([None] * 4, "skip", "nothing in it"),
    ([3, None, 3], "skip", "one value only"),
    (["x", "x"], "skip", "one value only"),
    (["2020-01-31", "1.2.2021", None, "12/31/99 10:30"], "skip", "dates or times"),
    (["2020-01-31", "10.0.0.1"], "categorical", "text with 2 values"),
]
LIBRARIES = {
    "pandas": lambda cells: pd.DataFrame({"c": cells}),
    "objects": lambda cells: pd.DataFrame({"c": pd.Series(cells, dtype=object)}),
    "nullable": lambda cells: pd.DataFrame({"c": cells}).convert_dtypes(),
    "polars": lambda cells: pl.DataFrame({"c": cells}),
    "pyarrow": lambda cells: pa.table({"c": cells}),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("cells", "kind", "reason"), KINDS)
def test_the_kind_of_a_column(library, cells, kind, reason):
    frame = LIBRARIES[library](cells)
    found = nb.infer_likelihoods(frame)
    assert dict(found) == {"c": kind}
    assert found.choices[0].reason == reason
    column = as_frame(frame)["c"]
    halves = [summarise_column(half) for half in (column[:3], column[3:])]
    assert infer(halves[0].merge(halves[1])) == found.choices[0]


def test_declared_categories_do_not_count_as_values():
    enum = pl.DataFrame({"c": pl.Series(["a", "a"], dtype=pl.Enum(["a", "b"]))})
    assert dict(nb.infer_likelihoods(enum)) == {"c": "skip"}
    codes = pd.DataFrame({"c": pd.Categorical([2, 1, None, 2])})
    assert dict(nb.infer_likelihoods(codes)) == {"c": "categorical"}


def test_the_table_of_choices_is_a_mapping_that_cannot_change():
    found = nb.infer_likelihoods(pd.DataFrame({"height": [1.5, 2.5, 2.0], "colour": list("rgb")}))
    assert repr(found).splitlines() == [
        "column  likelihood   because it has      missing  or",
        "height  normal       numbers             0        histogram, ordered, categorical",
        "colour  categorical  text with 3 values  0        ordered, words",
    ]
    assert found == {"height": "normal", "colour": "categorical"}
    assert {**found, "height": "skip"}["height"] == "skip"
    with pytest.raises(KeyError):
        found["weight"]
    with pytest.raises(AttributeError):
        found.choices = ()


def test_what_is_not_a_frame_is_refused():
    with pytest.raises(DataError, match="infer_likelihoods takes a data frame, got ndarray"):
        nb.infer_likelihoods(np.eye(3))


@pytest.mark.filterwarnings("ignore:column")
def test_what_may_be_chosen_instead_is_possible():
    """Each other likelihood fits: of texts levels are listed, and words have two letters."""
    n, y = 40, np.arange(40) % 2
    frame = pd.DataFrame(
        {
            "price": [Decimal(k) / 7 for k in range(n)],
            "truth": y == 0,
            "grade": pd.Categorical(["low", "mid", "high", "mid"] * 10, ["low", "mid", "high"], ordered=True),
            "mail": ["good day", "bad day"] * 20,
            "when": pd.date_range("2020-01-01", periods=n),
            "row": range(n),
            "lists": [[1]] * n,
            "large": [2**70 + k for k in range(n)],
            "one": 1.0,
            "none": np.nan,
        }
    )
    choices = {choice.name: choice for choice in nb.infer_likelihoods(frame).choices}
    for name, choice in choices.items():
        others = choice.otherwise.split(", ") if choice.otherwise else []
        assert bool(others) == (name not in ("lists", "large", "one", "none"))
        for kind in others:
            given = ["good day", "bad day"] if (name, kind) == ("mail", "ordered") else kind
            nb.NaiveBayesClassifier({name: given}, method="posterior").fit(frame[[name]], y)
    assert choices["when"].otherwise == "categorical"
    assert (choices["none"].missing, choices["one"].missing) == (n, 0)
    asked = Choice.of(Column("a", "skip", text=None, reason="skipped, as asked"))
    assert (asked.missing, asked.otherwise) == (None, "")
    assert table_of([asked]).splitlines()[1] == "a       skip        skipped, as asked"
