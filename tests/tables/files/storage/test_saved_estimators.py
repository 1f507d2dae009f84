"""A schema read from a file is one that fitting could have made, or it is refused by the part that is wrong.

Rows that an estimator keeps are in its file only if that is asked for, and it then goes on as if never saved.
"""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.storage import _tensors as tensors
from bayesnb.tables.files.storage._saved_estimators import check_schema
from bayesnb.tables.frames._blocks import BlocksSchema
from bayesnb.tables.frames._columns import Column
from bayesnb.tables.frames._schema import Schema
from tests import cases

OF_FRAME = Schema((Column("a", "categorical", (1.0, 2.0)), Column("b", "categorical", ("u", "v"), True)))
OF_CODES = Schema((Column("", "categorical", range(4)),) * 3, named=False)
OF_NUMBERS = Schema((Column("", "normal", width=3),), named=False)
PARTS = {"one": replace(OF_NUMBERS, prefix="one"), "two": replace(OF_CODES, prefix="two")}
OF_BLOCKS = BlocksSchema(PARTS)


def with_column(schema, **changes):
    first, *others = schema.columns
    return replace(schema, columns=(replace(first, **changes), *others))


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (with_column(OF_FRAME, width=2), "width of column 'a' must be a number of columns of an array, got 2"),
        (with_column(OF_FRAME, values=(2.0, 1.0)), "values of column 'a' must be different, and in order"),
        (with_column(OF_FRAME, name="b"), "columns of the schema must have different names"),
        (with_column(OF_FRAME, kind="own"), "must have the vectorizer or the family of its kind"),
        (replace(OF_FRAME, columns=(Column("a", "skip"),)), "columns of the schema must not all be left out"),
        (with_column(OF_CODES, values=(0, 1)), "values of a column of an array must be codes 0, 1, ..."),
        (with_column(OF_CODES, values=range(0)), "values of a column of an array must be codes 0, 1, ..."),
        (with_column(OF_CODES, width=2), "width of column '' must be a number of columns of an array, got 2"),
        (with_column(OF_NUMBERS, width=0), "width of column '' must be a number of columns of an array, got 0"),
        (with_column(OF_NUMBERS, width=1 << 40), "width of column '' must be a number of columns of an array"),
        (BlocksSchema({"one": with_column(PARTS["one"], width=0)}), "must be a number of columns of an array, got 0"),
        (BlocksSchema({"other": PARTS["one"]}), "part 'other' of the schema must have its name, got 'one'"),
    ],
)  # fmt: skip
def test_a_schema_that_no_fit_makes_is_refused(schema, sentence):
    with pytest.raises(ValueError) as error:
        check_schema(schema)
    assert sentence in str(error.value)


@pytest.mark.parametrize("schema", [OF_FRAME, OF_CODES, OF_NUMBERS, OF_BLOCKS])
def test_a_schema_that_fits_make_is_accepted(schema):
    check_schema(schema)


N = 90
RNG = np.random.default_rng(12)
CODES = np.arange(N) % 3
Y = np.array([*"abc"])[CODES]
FRAME = pd.DataFrame({"size": RNG.normal(CODES), "colour": RNG.choice(["red", "blue", "green"], N)})
FRAME["paint"] = np.where(RNG.random(N) < 0.7, FRAME["colour"], "white")
FRAME["text"] = [" ".join(RNG.choice(["sun", "rain", "snow"], 3)) for _ in range(N)]
TABLES = {
    "inferred": (FRAME[["size", "colour"]], {}),
    "chosen": (FRAME[["size", "paint"]], {"likelihoods": {"size": "normal"}}),
    "words": (FRAME, {"likelihoods": {"text": "words"}}),
    "blocks": ({"left": FRAME[["size"]], "right": FRAME[["colour"]]}, {}),
    "codes": (CODES[:, None] * np.array([[1, 0]]) + RNG.integers(0, 2, (N, 2)), {"likelihoods": "categorical"}),
    "fading": (FRAME[["size"]], {"forgetting": 0.97}),
}


def some(table, rows):
    if isinstance(table, dict):
        return {name: block[rows] for name, block in table.items()}
    return table[rows]


def saved(fit, **options):
    file = io.BytesIO()
    nb.save(fit, file, **options)
    return file.getvalue()


CASES = {f"{kind}, {kept}": (kind, kept) for kind in TABLES for kept in (10_000, 20)}


@pytest.mark.parametrize("case", cases.by_default(CASES, "codes, 10000", "fading, 20"))
def test_with_its_rows_an_estimator_goes_on_as_if_never_saved(case, monkeypatch):
    kind, kept = CASES[case]
    monkeypatch.setattr(limits, "KEPT_ROWS", kept)
    table, options = TABLES[kind]
    parts = [slice(0, 50), slice(50, 71), slice(71, N)]
    ours, never = (nb.NaiveBayesClassifier(**options) for _ in range(2))
    for part in parts:
        ours = nb.load(saved(ours.partial_fit(some(table, part), Y[part]), rows=True))
        never.partial_fit(some(table, part), Y[part])
        assert_array_equal(ours.predict_log_proba(table), never.predict_log_proba(table))
    gone = slice(30, 40)
    if "forgetting" not in options:
        ours, never = (clf.forget(some(table, gone), Y[gone]) for clf in (ours, never))
        assert_allclose(ours.predict_log_proba(table), never.predict_log_proba(table), rtol=1e-12)


@pytest.mark.slow
def test_a_file_has_rows_only_if_asked():
    clf = nb.NaiveBayesClassifier(TABLES["chosen"][1]["likelihoods"]).partial_fit(TABLES["chosen"][0], Y)
    cells = [cell.tobytes() for cell in FRAME["size"].to_numpy()]
    assert not any(cell in saved(clf) for cell in cells)
    assert all(cell in saved(clf, rows=True) for cell in cells)


@pytest.mark.parametrize(
    "fit",
    [
        nb.NaiveBayesClassifier("normal").fit([[1.0], [2.0]], [0, 1]),
        nb.NaiveBayesClassifier("normal", keep_rows=False).partial_fit([[1.0], [2.0]], [0, 1]),
        nb.NaiveBayes(nb.Bernoulli(), num_classes=2),
    ],
)  # fmt: skip
def test_rows_that_are_not_there_cannot_be_saved(fit):
    with pytest.raises(nb.StorageError, match="rows=True writes the rows that partial_fit has kept, and it has none"):
        saved(fit, rows=True)


@pytest.mark.parametrize(
    ("change", "kept"),
    [("labels", 10_000), ("labels", 20), ("cells", 10_000), ("classes", 20), ("columns", 10_000), ("columns", 20)],
)
def test_rows_of_another_fit_are_refused(change, kept, monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", kept)
    clf = nb.NaiveBayesClassifier({"colour": "categorical"}).partial_fit(FRAME[["colour"]], Y)
    header, arrays = tensors.from_bytes(saved(clf, rows=True))
    described = dict(header["rows"]["dict"])
    cells, labels = (arrays[code["array"]] for code in (described["arrays"]["dict"][0][1], described["y"]))
    keys = {id(array): key for key, array in arrays.items()}
    changed = {
        "labels": (labels, np.zeros_like(labels)),
        "cells": (cells, np.full_like(cells, 7)),
        "classes": (labels, labels + 1),
        "columns": (cells, np.repeat(cells, 2, axis=1)),
    }
    old, new = changed[change]
    arrays[keys[id(old)]] = new
    with pytest.raises(nb.StorageError, match="does not contain a valid bayesnb result"):
        nb.load(tensors.to_bytes(header, arrays))
