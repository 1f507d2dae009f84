"""One pass: what is counted while a table is described is what a second pass counts."""

import jax
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.families import Family
from bayesnb.tables.files.sources._paths import open_data

ROWS = 400
LABELS = {
    "text": np.array(["no", "yes", "TRUE", "true"]),
    "whole": np.array([7, 5, -3, 0]),
    "flag": np.array([True, False, True, True]),
    "float": np.array([0.5, 2.0, np.nan, 1.5]),
    "category": pd.Categorical(["b", "a", "b", None], categories=["never", "b", "a"]),
}


def frame(labels):
    """Columns of every kind; the last class appears late, as do some values, and some columns begin without cells."""
    rng = np.random.default_rng(5)
    k = np.minimum(rng.integers(0, 3, ROWS) + (np.arange(ROWS) > 250), 3)
    late = lambda cells: np.where(np.arange(ROWS) < 120, None, cells)  # noqa: E731
    few = rng.integers(0, 4, ROWS) + np.where(np.arange(ROWS) > 300, 4, 0)
    return pd.DataFrame(
        {
            "text": rng.choice(["red", "blue", "true", "True", None], ROWS),
            "many": [f"{cell:x}" for cell in rng.integers(0, 150, ROWS)],
            "late": late([f"v{cell}" for cell in rng.integers(0, 5, ROWS)]),
            "flag": rng.random(ROWS) < 0.3,
            "written": late(rng.choice(["false", "TRUE"], ROWS)),
            "binary": np.where(rng.random(ROWS) < 0.1, np.nan, rng.integers(0, 2, ROWS)),
            "few": np.where(rng.random(ROWS) < 0.1, np.nan, few),
            "number": 1e2 + rng.normal(size=ROWS) + k,
            "constant in a class": np.where(k == 1, 0.1, rng.normal(size=ROWS)),
            "gaps": np.where(rng.random(ROWS) < 0.5, np.nan, rng.normal(size=ROWS)),
            "one": 1.0,
            "label": labels[k],
        }
    )


@pytest.fixture
def readings(monkeypatch, tmp_path):
    """How often a file of batches of 50 rows is opened."""
    opened = []
    kind = type(open_data(str(_written(pd.DataFrame({"a": [1, 2]}), tmp_path))).parts[0].open())
    read = kind.batches
    monkeypatch.setattr(kind, "batches", lambda file, *given: opened.append(file) or read(file, *given))
    monkeypatch.setattr(limits, "KEPT_BYTES", 0)
    monkeypatch.setattr(limits, "BATCH_BYTES", 8 * 50 * 12)
    return opened


def _written(rows, folder):
    rows.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def assert_same(found, wanted):
    assert found.likelihoods_ == wanted.likelihoods_
    assert_array_equal(found.classes_, wanted.classes_)
    given = (jax.tree.leaves(getattr(fit.fit_, "statistics", fit.fit_)) for fit in (found, wanted))
    for one, two in zip(*given, strict=True):
        assert one.dtype == two.dtype
        assert_allclose(one, two, rtol=1e-12, atol=1e-10)


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.filterwarnings("ignore:.* rows have no class")
@pytest.mark.parametrize("labels", LABELS)
def test_the_statistics_are_those_of_a_second_pass(labels, readings, tmp_path, monkeypatch):
    path = _written(frame(LABELS[labels]), tmp_path)
    found = nb.fit_file(path, "label", method="posterior")
    assert len(readings) == 1
    with monkeypatch.context() as patched:
        patched.setattr(limits, "COUNTED_CLASSES", 0)
        assert_same(found, nb.fit_file(path, "label", method="posterior"))
    assert len(readings) == 3


@pytest.mark.filterwarnings("ignore:column")
def test_a_class_that_is_one_too_many_appears_late(readings, tmp_path, monkeypatch):
    path = _written(frame(LABELS["whole"]), tmp_path)
    wanted = nb.fit_file(path, "label", method="posterior")
    monkeypatch.setattr(limits, "COUNTED_CLASSES", 3)
    assert_same(nb.fit_file(path, "label", method="posterior"), wanted)
    assert len(readings) == 3


@pytest.mark.filterwarnings("ignore:column")
@pytest.mark.parametrize(
    ("likelihoods", "options", "times"),
    [
        ({"few": "categorical", "number": "normal", "many": "skip"}, {"method": "map"}, 1),
        ({"few": "poisson"}, {"temper": False}, 2),
        ({"many": "words"}, {"temper": False}, 2),
        ({"number": "histogram"}, {"temper": False}, 2),
        (nb.Normal(), {"temper": False}, 1),
        (nb.NormalKnownVariance(2.0), {"temper": False}, 1),
        ("auto", {"temper": True}, 3),
    ],
)
def test_what_is_not_counted_is_read_again(likelihoods, options, times, readings, tmp_path):
    rows = frame(LABELS["whole"])
    rows = rows[["few", "number", "label"]] if isinstance(likelihoods, Family) else rows
    found = nb.fit_file(_written(rows, tmp_path), "label", likelihoods, **options)
    assert len(readings) == times
    wanted = nb.NaiveBayesClassifier(likelihoods, **options).fit(rows.drop(columns="label"), rows["label"])
    assert_same(found, wanted)


def test_numbers_that_are_too_many_or_too_large(readings, tmp_path):
    rows = pd.DataFrame({"code": np.arange(ROWS) % 40, "size": np.arange(ROWS) % 7.5, "label": [*"ab"] * (ROWS // 2)})
    path = _written(rows, tmp_path)
    found = nb.fit_file(path, "label", {"code": "categorical"}, temper=False)
    assert len(readings) == 2
    wanted = nb.NaiveBayesClassifier({"code": "categorical"}, temper=False).fit(rows[["code", "size"]], rows["label"])
    assert_same(found, wanted)
    with pytest.raises(ValueError, match="'size' holds 1e\\+300 in row 1, which is too large to be squared"):
        nb.fit_file(_written(rows.assign(size=1e300), tmp_path), "label", {"size": "normal"}, temper=False)


def test_a_stream_that_can_be_read_once_is_fitted_whatever_its_size(monkeypatch):
    monkeypatch.setattr(limits, "KEPT_BYTES", 1)
    rows = frame(LABELS["text"])[["number", "few", "label"]]
    with pytest.raises(ValueError, match="can be read once only"):
        nb.fit_table(pa.Table.from_pandas(rows).to_reader(50), "label", temper=False)


@pytest.mark.parametrize(("family", "most"), [(nb.Categorical(3), 3), (nb.Categorical(12), 12), (nb.Bernoulli(), 2)])
def test_codes_of_a_family_that_is_given_are_counted_and_checked(family, most):
    """Also beside another column, and of more values than are counted while a table is described."""
    rows = pd.DataFrame({"size": np.linspace(0.0, 1.0, 60), "code": np.arange(60) * 7 % most})
    y, chosen = np.array(["a", "b", "a", "a", "b"] * 12), {"code": family}
    clf = nb.NaiveBayesClassifier(chosen, method="posterior").fit(rows, y)
    found = nb.fit_table(rows.assign(label=y), "label", chosen, method="posterior")
    assert_allclose(found.predict_proba(rows), clf.predict_proba(rows), rtol=1e-9)
    with pytest.raises(ValueError, match=r"row 1: column 'code'|column 'code' cannot be"):
        nb.fit_table(rows.assign(label=y, code=rows["code"].where(rows["code"] != 0, 0.5)), "label", chosen)
