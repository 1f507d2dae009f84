"""Files, folders, datasets, tables and Arrow's streams: what is in them is what is counted."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.files import _counting as counting
from bayesnb.files._counting import stream
from bayesnb.files.sources._source import StreamError
from tests.conftest import DOCS
from tests.files.stream_tables import (
    FORMS,
    NORMAL,
    SPECIES,
    TABLE,
    D,
    K,
    N,
    X,
    Y,
    ds,
    in_words,
    pa,
    pq,
    small_batches,
    sources,
    whole,
)
from tests.files.streams import assert_same


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    small_batches(monkeypatch)


# sources


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_whole(form, tmp_path):
    assert_same(stream(NORMAL, sources(TABLE, tmp_path)[form], label="species"), whole())


def test_streams_of_batches_need_the_number_of_classes():
    assert_same(stream(NORMAL, TABLE.to_reader(100), label="species", num_classes=K), whole())
    assert_same(stream(NORMAL, Capsule(TABLE), label="species", num_classes=K), whole())
    with pytest.raises(StreamError, match="declare their number, num_classes=K"):
        stream(NORMAL, TABLE.to_reader(100), label="species")


class Capsule:
    """Somebody else's table, which Arrow's protocol reads."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_rows_that_a_filter_chooses():
    dataset = ds.dataset(TABLE).filter(ds.field("first") > 1e4)
    chosen = X[:, 0] > 1e4
    streamed = stream(NORMAL, dataset, label="species", num_classes=K)
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X[chosen], Y[chosen]))


def test_what_folders_say_is_a_column(tmp_path):
    pq.write_to_dataset(in_words(TABLE, Y), tmp_path / "by", partition_cols=["species"])
    codes = np.argsort(np.argsort(SPECIES))[Y]
    assert_same(
        stream(NORMAL, tmp_path / "by", label="species"),
        nb.sufficient_statistics(NORMAL, X, codes, classes=sorted(SPECIES)),
    )


# labels


def test_labels_of_text_are_sorted_or_as_declared(tmp_path):
    words = in_words(TABLE, Y)
    pq.write_table(words, tmp_path / "rows.parquet")
    streamed = stream(NORMAL, tmp_path / "rows.parquet", label="species")
    assert_same(
        streamed,
        nb.sufficient_statistics(NORMAL, X, np.unique(SPECIES[Y], return_inverse=True)[1]).named(sorted(SPECIES)),
    )
    coded = words.set_column(D, "species", words["species"].dictionary_encode())
    for source in (tmp_path / "rows.parquet", words, coded, coded.to_reader(90)):
        declared = stream(NORMAL, source, label="species", classes=list(SPECIES))
        assert_same(declared, nb.sufficient_statistics(NORMAL, X, Y, classes=SPECIES))


def test_more_classes_than_are_seen():
    whole = nb.fit_posterior(nb.NaiveBayes(nb.Normal(), num_classes=5), X, Y).predict_proba(X)
    for keywords in ({"num_classes": 5}, {"classes": [0, 1, 2, 3, 4]}):
        streamed = nb.fit_posterior(NORMAL, statistics=stream(NORMAL, TABLE, label="species", **keywords))
        assert_allclose(streamed.predict_proba(X), whole, rtol=1e-6)
    words = stream(NORMAL, in_words(TABLE, Y), label="species", num_classes=5)
    assert words.num_classes == 5


def test_whole_numbers_can_be_named():
    streamed = stream(NORMAL, TABLE, label="species", classes=[2, 0, 1])
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X, np.array([1, 2, 0])[Y], classes=[2, 0, 1]))


def test_declared_classes_spare_the_first_pass(monkeypatch, tmp_path):
    from bayesnb.files.sources._arrow_columns import ColumnChoice

    pq.write_table(TABLE, tmp_path / "rows.parquet")
    monkeypatch.setattr(ColumnChoice, "_labels", lambda *_: pytest.fail("a pass over the labels"))
    stream(NORMAL, tmp_path / "rows.parquet", label="species", num_classes=K)
    stream(nb.NaiveBayes(nb.Normal(), num_classes=K), tmp_path / "rows.parquet", label="species")


def test_rows_of_weight_zero_are_not_there():
    weight = np.arange(N) % 3
    labels = [None if w == 0 else int(k) for k, w in zip(Y, weight, strict=True)]
    weighted = TABLE.set_column(D, "species", pa.array(labels)).append_column("weight", pa.array(weight))
    streamed = stream(NORMAL, weighted, label="species", weight="weight")
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X, Y, sample_weight=weight))
    words = [None if w == 0 else SPECIES[k] for k, w in zip(Y, weight, strict=True)]
    weighted = weighted.set_column(D, "species", pa.array(words))
    named = stream(NORMAL, weighted, label="species", weight="weight", classes=list(SPECIES))
    assert_same(named, streamed.named(SPECIES))
    never = weighted.set_column(D, "species", pa.array(np.where(weight == 0, "no class", SPECIES[Y])))
    assert_same(stream(NORMAL, never, label="species", weight="weight", classes=list(SPECIES)), named)
    assert stream(NORMAL, never, label="species", weight="weight").num_classes == K


# features


def seen_types(monkeypatch, model, source, **keywords):
    """The types of the arrays that the statistics are computed from."""
    found = []
    compute = nb.sufficient_statistics

    def spy(model, X, y, **rest):
        found.append(jax.tree.map(lambda x: x.dtype, X))
        return compute(model, X, y, **rest)

    monkeypatch.setattr(counting, "sufficient_statistics", spy)
    stream(model, source, label="species", **keywords)
    return found


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8", "int64", "float16"])
def test_types_are_kept(kind, monkeypatch, tmp_path):
    values = np.zeros(N, kind)
    pq.write_table(pa.table({"a": values, "b": values, "species": TABLE["species"]}), tmp_path / "rows.parquet")
    expected = np.dtype("float32" if kind == "float16" else kind)
    assert set(seen_types(monkeypatch, NORMAL, tmp_path / "rows.parquet")) == {expected}


def test_float32_far_from_zero(rng, tmp_path):
    rows = pa.table({"a": (1e4 + rng.normal(size=N)).astype(np.float32), "label": Y})
    pq.write_table(rows, tmp_path / "rows.parquet")
    moments = stream(NORMAL, tmp_path / "rows.parquet", label="label").blocks["x"]
    exact = np.asarray(rows["a"], np.float64)
    assert_allclose(moments.variance[:, 0], [exact[k == Y].var() for k in range(K)], rtol=1e-6)


def test_null_is_missing_and_any_number_is_a_feature(rng):
    model = nb.NaiveBayes(nb.Normal())
    flags, counts = rng.random(N) < 0.5, rng.integers(0, 9, N)
    missing = rng.random(N) < 0.2
    mixed = pa.table({
        "flag": pa.array(flags, mask=missing),
        "count": pa.array(counts, pa.int8(), mask=missing),
        "codes": pa.array(counts).dictionary_encode(),
        "price": pa.array(counts).cast(pa.decimal128(25, 2)),
        "nothing": pa.nulls(N),
        "label": Y,
    })  # fmt: skip
    X = np.c_[flags, counts, counts, counts, counts].astype(float)
    X[missing, :2] = X[:, 4] = np.nan
    assert_same(stream(model, mixed, label="label"), nb.sufficient_statistics(model, X, Y))


def test_blocks_by_name(rng):
    model = nb.NaiveBayes({
        "flags": nb.Bernoulli(), "blood": nb.Categorical((2, 4)), "words": nb.Multinomial(), "hits": nb.Binomial(None),
    })  # fmt: skip
    flags, blood, words = rng.random((N, 1)) < 0.5, rng.integers(0, 2, (N, 2)), rng.integers(0, 5, (N, 3))
    tries = rng.integers(3, 9, (N, 2))
    hits = rng.binomial(tries, 0.4)
    arrays = np.c_[flags, blood, words, hits, tries]
    table = pa.table({**{f"c{d}": column for d, column in enumerate(arrays.T)}, "label": Y})
    columns = {
        "flags": ["c0"],
        "blood": ("c1", "c2"),
        "words": ["c3", "c4", "c5"],
        "hits": (["c6", "c7"], ["c8", "c9"]),
    }
    X = {"flags": flags, "blood": blood, "words": words, "hits": (hits, tries)}
    assert_same(stream(model, table, label="label", columns=columns), nb.sufficient_statistics(model, X, Y))


def test_some_columns_in_another_order():
    streamed = stream(NORMAL, TABLE, label="species", columns=["third", "first"])
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X[:, [2, 0]], Y))


def test_the_index_of_a_data_frame_is_no_feature(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = TABLE.to_pandas().set_index(pandas.Index(np.arange(N)[::-1].copy()))
    frame.to_parquet(tmp_path / "frame.parquet")
    assert_same(stream(NORMAL, tmp_path / "frame.parquet", label="species"), whole())


# CSV


def test_csv_whole_numbers_that_end_as_fractions(tmp_path):
    """Types are guessed from the first rows; what follows may be otherwise."""
    lines = ["a;b;label", *(f"{i % 7};{i % 5};{'xy'[i % 2]}" for i in range(3000)), "0.5;?;x", ";NA;y"]
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as handle:
        handle.write("\n".join(lines))
    rows = np.arange(3000)
    X = np.r_[np.c_[rows % 7, rows % 5], [[0.5, np.nan], [np.nan, np.nan]]]
    streamed = stream(NORMAL, tmp_path / "rows.csv.gz", label="label")
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X, np.r_[rows % 2, 0, 1], classes=["x", "y"]))


# memory


PEAK = """
import sys
from pathlib import Path
import bayesnb as nb
from bayesnb.files._counting import stream
stream(nb.NaiveBayes(nb.Normal()), sys.argv[1], label="label", num_classes=2)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) / 1e3)  # getrusage knows the peak of the process that started this one, too
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from Linux's /proc")
def test_memory_does_not_grow_with_the_file(rng, tmp_path):
    """Resident in all, in MB: a row group of 60 columns and a million rows, pandas's default, once and four times."""
    rows = 1 << 20
    columns = {f"c{d}": rng.standard_normal(rows, np.float32) for d in range(60)}
    pq.write_table(pa.table({**columns, "label": rng.integers(0, 2, rows)}), tmp_path / "0.parquet")
    (tmp_path / "four").mkdir()
    for copy in range(4):
        (tmp_path / "four" / f"{copy}.parquet").hardlink_to(tmp_path / "0.parquet")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(DOCS.parent), *filter(None, sys.path)]),
    }

    def peak(source):
        command = [sys.executable, "-c", PEAK, str(source)]
        return float(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)

    once, four_times = peak(tmp_path / "0.parquet"), peak(tmp_path / "four")
    assert four_times < 700
    assert four_times < once + 60
