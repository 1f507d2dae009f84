"""Columns of categories in every library, and arrays of flags beside numbers: what the type is makes no difference."""

import datetime
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

import bayesnb as nb
from tests.fuzz.sentences import answer

VALUES: list[list[Any]] = [
    [0, 1, 2], [0, 1], [3, -1, 10, 9], [1.5, 2.0, -0.25], [0.0, -0.0, 1e-300, 1e300], [2**53 - 1, 0], [True, False],
    ["a", "b", "c"], ["1", "2", "x"], ["True", "false"], ["", " ", "é"],
    [datetime.datetime(2020, 1, day) for day in (1, 2)],
]  # fmt: skip
MIXED: list[list[Any]] = [[1, "a"], [True, "no", 2.5], [2**60, 2**60 + 1], [datetime.date(2020, 1, 1), "x"]]


def _arrow(cells: list[Any]) -> Any:
    return pa.array(cells).dictionary_encode()


FORMS = {
    "pandas": lambda cells: pd.DataFrame({"c": pd.Categorical(cells)}),
    "ordered": lambda cells: pd.DataFrame({"c": pd.Categorical(cells, ordered=True)}),
    "arrow in pandas": lambda cells: pd.DataFrame({"c": pd.Series(pd.arrays.ArrowExtensionArray(_arrow(cells)))}),
    "pyarrow": lambda cells: pa.table({"c": _arrow(cells)}),
    "polars": lambda cells: pl.DataFrame({"c": pl.Series(cells, dtype=pl.Categorical)}),
}


@dataclass(frozen=True)
class Categories:
    """A column of categories, and the classes of its rows."""

    cells: list[Any]
    y: list[int]
    form: str
    plain: bool

    def check(self) -> None:
        """The fit predicts the same of its frame, of plain cells and of dicts; mixed cells may be refused."""
        frame = FORMS[self.form](self.cells)
        clf = answer(lambda: nb.NaiveBayesClassifier({"c": "categorical"}).fit(frame, self.y))
        expected = answer(lambda: clf.predict_proba(frame))
        rows = [{"c": cell} for cell in self.cells]
        plain = pd.DataFrame({"c": pd.Series(self.cells, dtype=object)})
        others = [answer(lambda given=given: clf.predict_proba(given)) for given in (rows, rows[:3], plain)]
        answer(lambda: nb.NaiveBayesClassifier().fit(frame, self.y))
        if self.plain:
            for found in others:
                np.testing.assert_array_equal(found, expected[: len(found)])
            other = nb.NaiveBayesClassifier({"c": "categorical"}).fit(plain, self.y)
            np.testing.assert_allclose(other.predict_proba(frame), expected, rtol=1e-12)


@dataclass(frozen=True)
class Numbers:
    """An array, and the classes of its rows."""

    X: np.ndarray
    y: list[int]

    def check(self) -> None:
        """The fit is that of the likelihoods that the rule gives, written out."""
        clf = answer(lambda: nb.NaiveBayesClassifier(temper=False).fit(self.X, self.y))
        flags = [{*column[~np.isnan(column)].tolist()} for column in self.X.T.astype(float)]
        many, whole = len(self.X) >= 10, set().union(*flags) == {0.0, 1.0}
        kinds = ["bernoulli" if many and (whole or flag == {0.0, 1.0}) else "normal" for flag in flags]
        assert [*clf.likelihoods_.values()] == kinds
        declared = nb.NaiveBayesClassifier(kinds, temper=False).fit(self.X, self.y)
        np.testing.assert_array_equal(clf.predict_proba(self.X), declared.predict_proba(self.X))


@st.composite
def columns(draw: st.DrawFn) -> Categories | Numbers:
    """Categories of some form, or flags and numbers side by side."""
    num_rows = draw(st.integers(6, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = (rng.permutation(num_rows) % draw(st.integers(1, 3))).tolist()
    missing = rng.random(num_rows) < draw(st.sampled_from([0.0, 0.2]))
    if draw(st.booleans()):
        plain = draw(st.booleans())
        form = draw(st.sampled_from([*FORMS] if plain else ["pandas"]))
        values = draw(st.sampled_from(VALUES if plain else MIXED))
        values = [*map(str, values)] if form == "polars" else values
        places = rng.integers(0, len(values), num_rows)
        cells = [None if out else values[place] for place, out in zip(places, missing, strict=True)]
        return Categories(cells, y, form, plain)
    made = {
        "flags": lambda: rng.integers(0, 2, num_rows), "zeros": lambda: np.zeros(num_rows),
        "ones": lambda: np.ones(num_rows), "counts": lambda: rng.integers(0, 3, num_rows),
        "numbers": lambda: rng.normal(size=num_rows), "nothing": lambda: np.full(num_rows, np.nan),
    }  # fmt: skip
    kinds = draw(st.lists(st.sampled_from([*made]), min_size=1, max_size=6))
    X = np.column_stack([made[kind]() for kind in kinds]).astype(float)
    if missing.any():
        X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    elif np.isfinite(X).all() and (X % 1 == 0).all():
        X = X.astype(draw(st.sampled_from(["int64", "uint8", "float32", "float64"])))
    return Numbers(X, y)
