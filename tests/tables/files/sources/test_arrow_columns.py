"""The columns of a stream as features, labels and weights."""

from decimal import Decimal

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.tables.files import _counting as counting
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from bayesnb.tables.files.sources._streams import open_source
from tests.tables.files.stream_tables import (
    NORMAL,
    SPECIES,
    TABLE,
    D,
    K,
    N,
    X,
    Y,
    in_words,
    pa,
    pq,
    whole,
)
from tests.tables.files.streams import assert_same

pytestmark = pytest.mark.usefixtures("small_batches")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "label is missing: give the name of the column of labels"),
        ({"label": "specie"}, "no column 'specie'; did you mean 'species'"),
        ({"label": "species", "weight": "w"}, "no column 'w'"),
        ({"label": "species", "columns": ["first", "fourth"]}, "no column 'fourth'"),
        ({"label": "species", "columns": ["species"]}, "'species' is a feature as well as the label"),
        ({"label": "species", "columns": {"x": ["first"]}}, "columns must be a list of names"),
        ({"label": "species", "columns": "first"}, "columns must be a list of names"),
        ({"label": "species", "columns": []}, "columns must be a list of names"),
        ({"label": "species", "columns": [1]}, "columns must be a list of names"),
        ({"label": "first"}, "label column 'first' holds double, expected whole numbers or text"),
        ({"label": "species", "classes": ["a", "b"]}, "the classes are .*'a', 'b'.* label column holds int64"),
        ({"label": "species", "classes": [0, 1]}, r"the label 2 in column 'species' is not one of \[0, 1\]"),
        ({"label": "species", "num_classes": 2}, r"the data frame, row 1: y holds 2, expected integers 0\.\.1"),
    ],
)
def test_arguments_that_do_not_fit(keywords, message):
    with pytest.raises(ValueError, match=message) as caught:
        stream(NORMAL, TABLE, **keywords)
    assert "\n" not in str(caught.value)


def test_blocks_need_their_columns():
    model = nb.NaiveBayes({"a": nb.Normal(), "b": nb.Normal()})
    for columns in (None, {"a": ["first"]}, ["first"], {"a": ["first"], "b": "second"}, {"a": ["first"], "c": []}):
        with pytest.raises(ValueError, match=r"columns must be a dict, a list of names for each of \['a', 'b'\]"):
            stream(model, TABLE, label="species", columns=columns)


def test_text_is_no_feature():
    words = in_words(TABLE, Y).append_column("label", TABLE["species"])
    with pytest.raises(StreamError, match=r"row 1: column 'species' holds '\w+', which .* nb\.fit_table, which"):
        stream(NORMAL, words, label="label")


def test_text_that_cannot_be_read_twice():
    with pytest.raises(StreamError, match=r"the stream cannot be read twice .* labels of text, classes="):
        stream(NORMAL, in_words(TABLE, Y).to_reader(), label="species", num_classes=K)


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
    from bayesnb.tables.files.sources._arrow_columns import ColumnChoice

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


def test_null_is_missing_and_any_number_is_a_feature(rng):
    model = nb.NaiveBayes(nb.Normal())
    flags, counts = rng.random(N) < 0.5, rng.integers(0, 9, N)
    missing = rng.random(N) < 0.2
    prices = rng.integers(-4000, 4000, N)
    mixed = pa.table({
        "flag": pa.array(flags, mask=missing),
        "count": pa.array(counts, pa.int8(), mask=missing),
        "codes": pa.array(counts).dictionary_encode(),
        "price": pa.array([Decimal(int(price)).scaleb(-3) for price in prices], pa.decimal128(25, 3)),
        "nothing": pa.nulls(N),
        "label": Y,
    })  # fmt: skip
    X = np.c_[flags, counts, counts, prices / 1000, counts].astype(float)
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


FEW = pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 1]})


def rows_of(source):
    return open_source(nb.NaiveBayes(nb.Normal()), source, "y", None, None, None)


def test_the_size_of_a_stream_is_unknown():
    assert rows_of(FEW).total == 3
    assert rows_of(FEW.to_reader()).total is None
