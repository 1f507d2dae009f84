"""Distinct texts of a column: the same in every library, and as Python sees them, which does not look at each."""

import time
import tracemalloc
from functools import reduce

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import bayesnb as nb
from bayesnb.tables.frames._likelihoods import describe_column
from bayesnb.tables.frames._summaries import summarise_column
from bayesnb.tables.frames._texts import MEANT, Lookup, Texts, are_numbers, factorise, match, order_of
from bayesnb.tables.frames._values import is_meant_as_number, reads_as_number

CELLS = ["b", "TRUE", None, "a", "true", "b", "True", "5"]
CODES, TEXTS = [0, 1, -1, 2, 1, 0, 1, 3], ["b", "True", "a", "5"]


def dictionary(codes, values, kind="int8"):
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind), pa.array(values))


COLUMNS = {
    "pandas": pd.Series(CELLS),
    "pandas objects": pd.Series(CELLS, dtype=object),
    "pandas categories": pd.Series(pd.Categorical(CELLS, ["none", "5", "a", "b", "TRUE", "True", "true"])),
    "polars": pl.Series(CELLS),
    "polars categories": pl.Series(CELLS, dtype=pl.Categorical),
    "polars enum": pl.Series(CELLS, dtype=pl.Enum(["none", "5", "a", "b", "TRUE", "True", "true"])),
    "arrow": pa.chunked_array([CELLS[:3], CELLS[3:]]),
    "arrow large": pa.chunked_array([pa.array(CELLS, pa.large_string())]),
    "arrow view": pa.chunked_array([pa.array(CELLS, pa.string_view())]),
    "arrow chunks of dictionaries": pa.chunked_array(
        [dictionary([1, 0, None], ["TRUE", "b"]), dictionary([1, 2, 3, 4, 0], ["5", "a", "true", "b", "True"])]
    ),
    "arrow dictionary with a null, a repetition and values that do not occur": pa.chunked_array(
        [dictionary([3, 5, 1, 4, 6, 2, 5, 0], ["5", None, "b", "b", "a", "True", "true", "none"], "uint32")]
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_distinct_texts_are_the_same_in_every_library(name):
    codes, texts = factorise(nw.from_native(COLUMNS[name], series_only=True))
    assert (codes.tolist(), texts.to_pylist()) == (CODES, TEXTS)


@pytest.mark.parametrize("name", COLUMNS)
def test_no_cells(name):
    empty = COLUMNS[name][:0] if "pa" in type(COLUMNS[name]).__module__ else COLUMNS[name].slice(0, 0)
    codes, texts = factorise(nw.from_native(empty, series_only=True))
    assert (codes.tolist(), texts.to_pylist()) == ([], [])


@pytest.mark.parametrize("cells", [[1, None, 2**60, 1], [True, None, False, True]])
def test_numbers_and_booleans_as_text(cells):
    for column in (pd.Series(cells, dtype=object), pl.Series(cells), pa.chunked_array([cells])):
        codes, texts = factorise(nw.from_native(column, series_only=True))
        assert (codes.tolist(), texts.to_pylist()) == ([0, -1, 1, 0], [str(cells[0]), str(cells[2])])


MARKS = "0123456789+-.eE_ ,infatyNTRUrue\u0663\u00a0\u2003x\0"


@pytest.fixture(scope="module")
def written():
    """Texts that are numbers, nearly so, or neither; in no order, and some of them twice."""
    rng = np.random.default_rng(0)
    found = ["".join(rng.choice([*MARKS], rng.integers(0, 8))) for _ in range(20_000)]
    found += ["inf", "-Infinity", " 1.5\n", "9007199254740993", "9007199254740993.0", "1e400", "1,234,567.5", "1_000"]
    return [
        *found,
        "2020-01-31 12:00",
        "31.1.2020",
        *(f"{'long' * 20}{i}" for i in range(300)),
        "ſtraſſe",
        "😀",
        "\uffff",
    ]


def large(texts):
    return pa.array(texts, pa.large_string())


def test_texts_look_like_numbers_where_python_reads_numbers(written):
    np.testing.assert_array_equal(are_numbers(large(written)), [*map(reads_as_number, written)])
    meant = [reads_as_number(text) or is_meant_as_number(text) for text in written]
    np.testing.assert_array_equal(match(large(written), MEANT), meant)


def test_texts_are_in_the_order_of_python(written):
    assert [written[i] for i in order_of(large(written))] == sorted(written)
    assert order_of(large(written)[5:5]).tolist() == []


@pytest.mark.parametrize("start", ["", "as all begin "])
def test_the_codes_of_texts_are_their_places(written, start):
    written = [start + text for text in written]
    values = sorted({*written[::2], "True"} - {"true"})
    asked = pa.chunked_array([large(["", *written, "TRUE", "absent", None])]).combine_chunks()
    code_of = {value: code for code, value in enumerate(values)}
    expected = [code_of.get({"true": "True"}.get(str(text).casefold(), text), -1) for text in asked.to_pylist()]
    lookup = Lookup(values)
    for first, last in ((0, 10), (0, 5000), (0, len(asked)), (7, 3000)):  # a dictionary that grows, and another one
        np.testing.assert_array_equal(lookup.codes(asked[first:last]), expected[first:last])
    assert Lookup(()).codes(asked[:2]).tolist() == [-1, -1]


def test_texts_join_as_if_they_were_counted_at_once():
    rng = np.random.default_rng(1)
    names = np.array([f"{n:x}" for n in range(3000)])
    parts = [rng.integers(0, top, 2000) for top in (500, 900, 900, 3000, 40)]

    def texts(codes, values, most=np.inf):
        return Texts(large(values), np.bincount(codes, minlength=len(values))[:, None], most)

    def total(most):
        grown = [texts(part, names[:size], most) for part, size in zip(parts[:3], (500, 900, 900), strict=True)]
        own = [
            texts(codes, values, most)
            for values, codes in (np.unique(names[p], return_inverse=True) for p in parts[3:])
        ]
        return reduce(Texts.join, [*grown, *own])

    shown = names[np.concatenate(parts)]
    assert {*total(np.inf).distinct.to_pylist()} == {*shown}
    assert len(total(np.inf).distinct) == len({*shown})
    for most in (np.inf, 100):  # what looks like a number is counted, however many are kept
        assert total(most).said[0] == sum(map(reads_as_number, shown))
    assert total(100).distinct is None
    assert total(len({*shown})).distinct is not None


def test_texts_that_are_repeated_in_a_dictionary_are_one():
    values, counts = large(["b", "a", "b", "true", "TRUE", "c", "b"]), np.arange(14).reshape(7, 2)
    for most in (4, 6, np.inf):  # those that are one do not count as too many
        found = Texts(values, counts, most)
        texts, table = found.counted
        assert texts.to_pylist() == ["True", "a", "b", "c"]
        assert table.tolist() == [[14, 16], [2, 3], [16, 19], [10, 11]]
        assert found.join(found).counted[1].tolist() == (2 * table).tolist()  # a dictionary that begins alike
        assert found.join(Texts(values[::-1], counts[::-1], most)).counted[1].tolist() == (2 * table).tolist()
    assert Texts(values, counts, 3).counted is None


@pytest.mark.slow
def test_a_million_texts_are_not_looked_at_in_python(monkeypatch):
    def refuse(*_):
        raise AssertionError

    texts = pc.binary_join_element_wise("user ", pc.cast(pa.array(np.arange(1_000_000)), pa.string()), "")
    column = nw.from_native(pa.chunked_array([texts]), series_only=True)
    with monkeypatch.context() as patched:
        for name in ("_values.reads_as_number", "_values.is_meant_as_number", "_values.label", "_texts.label"):
            patched.setattr(f"bayesnb.tables.frames.{name}", refuse)
        start = time.process_time()
        summary = summarise_column(column, chosen="categorical")
        fitted = describe_column(summary, "categorical")
        codes = fitted.encode(column)
        assert time.process_time() - start < 5  # .6 on a quiet machine, and 12 if Python looks at each
    assert len(fitted.values) == 1_000_000
    assert (np.array(fitted.values, object)[codes[::1000]] == texts.to_numpy(zero_copy_only=False)[::1000]).all()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_no_object_for_each_cell(library):
    words, cells = np.array([f"a long word {i}" for i in range(50)]), 100_000
    column = pa.chunked_array([pa.array(words).take(pa.array(np.arange(cells) % 50))])
    column = nw.from_native(column if library == "pyarrow" else pl.Series(column), series_only=True)
    tracemalloc.start()
    try:
        summarise_column(column)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * cells  # a text of its own for each cell takes more than 60 bytes


def test_half_a_character_is_refused():
    frame = pd.DataFrame({"c": pd.Series(["a\ud800", "b"] * 5, dtype=object)})
    with pytest.raises(
        ValueError, match=r"^row 0: column 'c' holds text with '\\ud800', which is half of a character: write it"
    ):
        nb.NaiveBayesClassifier().fit(frame, [0, 1] * 5)


def test_texts_that_appear_late_and_in_another_order():
    codes = np.r_[np.tile([3, 1], 5000), [4, 0, 1]].astype(np.int64)  # 2 does not occur
    column = pa.chunked_array([dictionary(codes, [*"abcde"], "int64")])
    found, texts = factorise(nw.from_native(column, series_only=True))
    expected, values = pd.factorize(np.array([*"abcde"])[codes])
    np.testing.assert_array_equal(found, expected)
    assert texts.to_pylist() == values.tolist() == [*"dbea"]
