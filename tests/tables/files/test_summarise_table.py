"""The sample of rows: the lowest hashes of each class, whatever the parts and the types of their columns."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files._summarise_table import RowSample

N = 300


def rows(seed=0):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 40, N), "b": rng.choice(["x", "y", None], N), "y": rng.choice([*"kl"], N)}
    frame = pd.DataFrame(columns)
    return pa.RecordBatch.from_pandas(frame, preserve_index=False)


def cells(sample):
    return sorted(map(repr, zip(*sample.rows.to_pydict().values(), sample.weight, strict=True)))


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(limits, "KEPT_ROWS", 25)


@pytest.mark.parametrize("cuts", [[150], [10, 20, 290], [0, 0, 299]])
def test_the_sample_of_parts_is_that_of_the_whole(cuts):
    whole = RowSample.of(rows(), "y", None)
    assert not whole.whole
    parts = [RowSample.of(rows()[first:last], "y", None) for first, last in zip([0, *cuts], [*cuts, N], strict=True)]
    for order in (parts, parts[::-1]):
        found = order[0]
        for part in order[1:]:
            found = found.merge(part)
        assert cells(found) == cells(whole)


def test_equal_rows_are_one_with_their_weight():
    sample = RowSample.of(rows(), "y", np.full(N, 0.5))
    counts = rows().to_pandas().fillna("").groupby(["a", "b", "y"]).size() / 2
    for a, b, y, weight in zip(*sample.rows.to_pydict().values(), sample.weight, strict=True):
        assert counts[a, b or "", y] == weight
    assert np.bincount(np.unique(sample.hashes[1], return_inverse=True)[1]).tolist() == [25, 25]


def test_types_do_not_matter():
    given = rows()
    arrays = [given["a"].cast(pa.float32()), given["b"].dictionary_encode(), given["y"].cast(pa.large_string())]
    other = pa.RecordBatch.from_arrays(arrays, ["a", "b", "y"])
    first, second = (RowSample.of(one, "y", None) for one in (given, other))
    assert_array_equal(first.hashes[0], second.hashes[0])
    assert first.rows.equals(second.rows)
    assert first.rows.schema.types == [pa.float64(), pa.large_string(), pa.large_string()]


def test_a_column_that_is_empty_in_one_part_takes_the_type_of_the_other():
    given = rows()
    empty = given.set_column(1, "b", pa.nulls(N))
    found = RowSample.of(empty, "y", None).merge(RowSample.of(given, "y", None))
    assert found.rows.schema.field("b").type == pa.large_string()
    missing = given.filter(pa.compute.is_null(given["b"]))
    assert_array_equal(
        np.sort(RowSample.of(missing, "y", None).hashes[0]),
        np.sort(RowSample.of(missing.set_column(1, "b", pa.nulls(len(missing))), "y", None).hashes[0]),
    )


def test_few_rows_are_kept_as_they_are():
    sample = RowSample.of(rows()[:25], "y", None)
    assert sample.whole
    assert len(sample.rows) == 25
    assert len(sample.lowest().rows) == 25
    assert (np.diff(sample.lowest().hashes[0].astype(float)) >= 0).all()
