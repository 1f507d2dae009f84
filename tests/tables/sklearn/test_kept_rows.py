"""Rows that ``partial_fit`` keeps: encoded anew as values come, put together, discounted, and taken away again."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import dense, is_sparse
from bayesnb.tables.frames._blocks import Blocks, make_schema
from bayesnb.tables.frames._series import as_frame
from bayesnb.tables.sklearn._kept_rows import KeptRows
from tests import cases

N = 160
RNG = np.random.default_rng(4)
CODES = RNG.integers(0, 3, N)
Y = np.array([*"abc"])[CODES]
COLOURS = np.array(["red", "green", "blue", "amber"])[(RNG.integers(0, 3, N) + CODES) % 4]
FRAME = pd.DataFrame(
    {
        "colour": np.where(RNG.random(N) < 0.1, None, COLOURS),
        "paint": np.where(RNG.random(N) < 0.6, COLOURS, RNG.choice(["red", "blue"], N)),
        "flag": RNG.integers(0, 2, N),
        "size": RNG.normal(CODES),
    }
)
KINDS = {"colour": "categorical", "paint": "categorical", "flag": "bernoulli", "size": "normal"}
TEXTS = pd.DataFrame(
    {
        "text": [" ".join(RNG.choice(["sun", "rain", "snow", "wind", "storm"], 3)) for _ in range(N)],
        "size": FRAME["size"],
    }
)
WEIGHT = RNG.uniform(1.0, 2.0, N) * (np.arange(N) % 7 > 0)
BLOCKS = Blocks({"left": as_frame(FRAME), "right": as_frame(TEXTS.rename(columns={"size": "width"}))})

TABLES = {
    "frame": (as_frame(FRAME), KINDS),
    "words": (as_frame(TEXTS), {"text": "words", "size": "normal"}),
    "blocks": (BLOCKS, {"left": KINDS, "right": {"text": "words", "width": "normal"}}),
}


def some(table, rows):
    return table.filter(rows.tolist())


@pytest.mark.parametrize("kind", TABLES)
def test_rows_are_encoded_anew_as_the_grown_schema_does(kind):
    table, kinds = TABLES[kind]
    early = (np.arange(N) < 40) & (COLOURS != "amber") & ~TEXTS["text"].str.contains("rain")
    early = early.to_numpy()
    first = some(table, early)
    before, seen = make_schema(first, kinds)
    after, _ = make_schema(table, kinds, before, seen)
    assert before != after
    kept = KeptRows.of(before.encode(first), CODES[early] // 2, WEIGHT[early], 2)
    found = kept.recode(before, after, np.array([0, 2]))
    for block, x in after.encode(first).items():
        ours = found.rows.arrays[block]
        assert (is_sparse(ours), ours.shape) == (is_sparse(x), x.shape)
        assert_array_equal(dense(ours), dense(x))
    assert_array_equal(found.rows.labels.y, CODES[early] // 2 * 2)


def learn(order, ends, names=KINDS, **options):
    clf = nb.NaiveBayesClassifier({name: KINDS[name] for name in names}, **options)
    for rows in np.split(order, ends):
        clf.partial_fit(FRAME.iloc[rows][[*names]], Y[rows], sample_weight=WEIGHT[rows])
    return clf


ORDERS = [(np.arange(N), []), (np.arange(N), [50, 51]), (RNG.permutation(N), [30, 31, 90]), (np.argsort(Y)[::-1], [60])]
"""Orders and splits; in the last, classes and colours come that the first batch lacks."""


@cache
def whole(names, missing):
    clf = nb.NaiveBayesClassifier({name: KINDS[name] for name in names}, missing=missing)
    return clf.fit(FRAME[[*names]], Y, sample_weight=WEIGHT)


@pytest.mark.parametrize(
    ("names", "kept", "missing"),
    [
        (("colour", "paint", "flag"), 90, None),
        (("colour", "paint", "flag"), 10_000, "auto"),
        pytest.param(tuple(KINDS), 10_000, "auto", marks=pytest.mark.slow),
    ],
)
def test_batches_in_any_order_are_the_fit_of_all_rows(names, kept, missing, monkeypatch):
    """Beyond the rows that are all kept so many of each class are, of which there are fewer here."""
    monkeypatch.setattr(limits, "KEPT_ROWS", kept)
    expected = whole(names, missing).predict_log_proba(FRAME[[*names]])
    for order, ends in ORDERS:
        found = learn(order, ends, names, missing=missing)
        assert found._kept.whole == (kept > N)
        assert_allclose(found.predict_log_proba(FRAME[[*names]]), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_part_that_is_kept_is_the_same_in_any_order(monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", 20)
    order = np.r_[np.arange(60), RNG.permutation(np.arange(60, N))]  # all colours are among the first
    splits = (order, [60]), (order, [60, 90, 91]), (np.r_[order[:60][::-1], order[60:]], [80])
    fits = [learn(*split, missing=None) for split in splits]  # flags are chosen while all rows are kept
    for clf in fits:
        assert_array_equal(np.bincount(clf._kept.rows.labels.y), [20, 20, 20])
        assert clf.learned_.summary.endswith(f"powers learned on 60 of {round(WEIGHT.sum())} rows")
        assert_allclose(clf.class_count_, np.bincount(CODES, WEIGHT))
        assert_allclose(clf.predict_log_proba(FRAME), fits[0].predict_log_proba(FRAME), rtol=1e-9, atol=1e-9)


def test_different_rows_are_never_taken_for_one(monkeypatch):
    """Rows of a part are told apart by hashes: of cells that are swapped between blocks, and of words."""
    cells = np.array([[a, b, c] for a in (0, 1) for b in (0, 1, 2) for c in (0, 1, 2)])
    words = scipy.sparse.csr_array(RNG.integers(0, 3, (60, 4)).astype(float))
    distinct = np.unique(words.toarray(), axis=0)
    monkeypatch.setattr(limits, "KEPT_ROWS", 17)
    for encoded, size in (({"one": cells[:, :1], "two": cells[:, 1:]}, 18), (words, len(distinct))):
        monkeypatch.setattr(limits, "KEPT_ROWS", size)
        rows = encoded["one"].shape[0] if isinstance(encoded, dict) else encoded.shape[0]
        batch = KeptRows.of(encoded, np.zeros(rows, int), None, 1)
        kept = batch.above(batch).cut().rows
        assert kept.num_rows == size
        assert kept.labels.weight.sum() == 2 * rows


@pytest.mark.parametrize("kept", cases.by_default([10_000, 90], 90))
def test_what_is_forgotten_was_never_there(kept, monkeypatch):
    """Rows of several batches, and of a weight of which some is left."""
    monkeypatch.setattr(limits, "KEPT_ROWS", kept)
    gone = (np.arange(N) % 3 == 0) & (COLOURS != "amber")
    fixed = {"missing": None} if kept < N else {}  # flags are fixed once rows are no longer all kept
    clf = learn(np.arange(N), [40, 70], **fixed).forget(FRAME[gone], Y[gone], sample_weight=WEIGHT[gone])
    rest = nb.NaiveBayesClassifier(KINDS, **fixed).fit(FRAME[~gone], Y[~gone], sample_weight=WEIGHT[~gone])
    assert_allclose(clf.predict_log_proba(FRAME), rest.predict_log_proba(FRAME), rtol=1e-7, atol=1e-7)
    clf.forget(FRAME[~gone][:20], Y[~gone][:20], sample_weight=WEIGHT[~gone][:20] / 2)
    left = np.where(np.arange((~gone).sum()) < 20, 0.5, 1.0) * WEIGHT[~gone]
    rest.fit(FRAME[~gone], Y[~gone], sample_weight=left)
    assert_allclose(clf.predict_log_proba(FRAME), rest.predict_log_proba(FRAME), rtol=1e-7, atol=1e-7)


def test_a_row_that_is_forgotten_is_the_one_of_its_weight():
    """Equal rows of small weights are not put together: each is left out by its own weight."""
    names, light = ["colour", "paint", "flag"], RNG.uniform(0.1, 1.0, N)
    kinds, gone = {name: KINDS[name] for name in names}, (np.arange(N) % 3 == 0) & (COLOURS != "amber")
    clf = nb.NaiveBayesClassifier(kinds).partial_fit(FRAME[names], Y, sample_weight=light)
    clf.forget(FRAME[names][gone], Y[gone], sample_weight=light[gone])
    assert_array_equal(clf._kept.rows.labels.weight, light[~gone])
    rest = nb.NaiveBayesClassifier(kinds).fit(FRAME[names][~gone], Y[~gone], sample_weight=light[~gone])
    assert_allclose(clf.predict_log_proba(FRAME[names]), rest.predict_log_proba(FRAME[names]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"dependence": False}, {"temper": True}])
def test_all_rows_may_be_forgotten(options):
    clf = nb.NaiveBayesClassifier(KINDS, **options).partial_fit(FRAME, Y).forget(FRAME, Y)
    assert_allclose(clf.predict_proba(FRAME[:2]), 1 / 3)
    again = clf.partial_fit(FRAME, Y)
    expected = nb.NaiveBayesClassifier(KINDS, **options).fit(FRAME, Y)
    assert_allclose(again.predict_proba(FRAME), expected.predict_proba(FRAME), rtol=1e-9)


@pytest.mark.slow
def test_forgetting_scales_the_rows_that_are_kept():
    clf = learn(np.arange(N), [50, 90], forgetting=0.97)
    present = WEIGHT > 0
    faded = WEIGHT[present] * 0.97 ** (present.sum() - 1.0 - np.arange(present.sum()))
    assert_allclose(clf._kept.rows.labels.weight, faded, rtol=1e-9)
    expected = nb.NaiveBayesClassifier(KINDS).fit(FRAME[present], Y[present], sample_weight=faded)
    assert_allclose(clf.predict_log_proba(FRAME), expected.predict_log_proba(FRAME), rtol=1e-9, atol=1e-9)


def test_a_file_has_no_rows_and_predicts_the_same(tmp_path):
    clf, sizes = nb.NaiveBayesClassifier(KINDS, missing=None), []  # twice the rows may earn flags
    for _ in range(2):
        for batch in np.split(np.arange(N), 2):
            clf.partial_fit(FRAME.iloc[batch], Y[batch])
        nb.save(clf, tmp_path / "model")
        sizes.append((tmp_path / "model").stat().st_size)
        loaded = nb.load(tmp_path / "model")
        assert_array_equal(loaded.predict_log_proba(FRAME), clf.predict_log_proba(FRAME))
    assert clf._kept.rows.num_rows == 2 * N
    assert loaded._kept is None
    assert max(sizes) - min(sizes) < 100  # digits of numbers in words
