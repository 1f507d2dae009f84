"""Files that are not what their names say, and decimal commas: each named, with what to do."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import bayesnb as nb
from bayesnb.studies.cli import main
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import as_pandas, open_data
from bayesnb.tables.files.sources._tables import open_table
from bayesnb.tables.frames._series import DataError
from bayesnb.tables.frames._values import READING

TEXT = b"x,label\n" + b"0.5,a\n1.5,b\n" * 8


def zipped(name):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, TEXT)
    return out.getvalue()


def parquet():
    out = io.BytesIO()
    pd.DataFrame({"x": [1.0], "label": ["a"]}).to_parquet(out)
    return out.getvalue()


KINDS = {
    "compressed by gzip, expected CSV: unpack it first, gzip -d": gzip.compress(TEXT),
    "compressed by bzip2": bz2.compress(TEXT),
    "compressed by xz": lzma.compress(TEXT),
    "compressed by zstd": b"\x28\xb5\x2f\xfd" + TEXT,
    "an Excel workbook or another zip archive": zipped("xl/workbook.xml"),
    "a Parquet file, expected CSV: name it .parquet": parquet(),
    "UTF-16 text, expected CSV: save it as UTF-8": TEXT.decode().encode("utf-16"),
}


pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    (place / "good.csv").write_bytes(TEXT)
    saved = str(place / "a.model")
    assert CliRunner().invoke(main, ["fit", str(place / "good.csv"), "--save", saved]).exit_code == 0
    return saved


@pytest.mark.parametrize("words", KINDS)
def test_every_reader_of_csv_names_what_the_file_is(words, place, model):
    (place / "odd.csv").write_bytes(KINDS[words])
    for args in (["compare", "odd.csv"], ["fit", "odd.csv", "--save", "b.model"], ["predict", model, "odd.csv"]):
        result = CliRunner().invoke(main, args)
        assert result.exit_code != 0
        assert f"'odd.csv' is {words}" in result.output
    with pytest.raises(nb.StreamError, match=f"'odd.csv' is {words}"):
        nb.stream(nb.NaiveBayes(nb.Normal()), "odd.csv", label="label")


@pytest.mark.parametrize("words", ["compressed by gzip", "an Excel workbook"])
def test_readers_of_parquet_name_it_too(words, place):
    given = next(content for kind, content in KINDS.items() if kind.startswith(words))
    (place / "odd.parquet").write_bytes(given)
    with pytest.raises(DataError, match=f"'odd.parquet' is {words}.*, expected Parquet"):
        open_data("odd.parquet")
    with pytest.raises(nb.StreamError, match=f"'odd.parquet' is {words}.*, expected Parquet"):
        nb.stream(nb.NaiveBayes(nb.Normal()), "odd.parquet", label="label")


def test_a_compressed_file_that_says_so_is_still_streamed(place):
    (place / "rows.csv.gz").write_bytes(gzip.compress(TEXT))
    found = nb.stream(nb.NaiveBayes(nb.Normal()), "rows.csv.gz", label="label", classes=["a", "b"])
    assert found.class_counts.tolist() == [8, 8]


COMMAS = "price;size;label\n" + "".join(f"{i},5;{i % 3 + 0.5};{'ab'[i % 2]}\n" for i in range(12))


def test_decimal_commas_are_named_with_what_to_write(place, model):
    (place / "rows.csv").write_text(COMMAS)
    warning = (
        "column 'price' is read as text because of '0,5' on line 2, which looks like a number with a decimal comma: "
        "write 0.5, or read the file with decimal=',' (--decimal ,)"
    )
    assert make_table(open_data("rows.csv")).warnings[0] == warning
    result = CliRunner().invoke(main, ["fit", "rows.csv", "--save", "b.model"])
    assert f"warning: {warning}" in result.output
    with pytest.raises(DataError, match="cannot be normal: '0,5' on line 2 looks like a number with a decimal comma"):
        make_table(open_data("rows.csv"), overrides={"price": "normal"})
    (place / "new.csv").write_text("x;y\n1.234,5;1.5\n")
    result = CliRunner().invoke(main, ["predict", model, "new.csv"])
    assert "'1.234,5' looks like a number with a decimal comma: write 1234.5" in result.output
    with pytest.raises(nb.StreamError, match=r"line 2: column 'price' holds '0,5', .*: write 0.5; .* change the cells"):
        nb.stream(nb.NaiveBayes(nb.Normal()), "rows.csv", label="label", columns=["price"])


def some_seeds(count):
    """The first seeds by default, and 500 with ``-m fuzz``."""
    return [*range(count), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(count, 500))]


def marks_of(rng):
    """What a file may be written with, and a table of numbers and texts, of which some are missing."""
    sep, decimal = rng.choice([*",;|\t^ "]), rng.choice([*".,"])
    decimal = "." if sep == "," else decimal
    thousands = rng.choice([mark for mark in "'., " if mark not in (sep, decimal)])
    markers = rng.choice(["", "NA", "?", "-", "n. d.", "99999"], rng.integers(1, 3), replace=False).tolist()
    texts = np.array(
        ["plain", 'with "quotes"', "two\nlines", "a,b;c|d", "'tis", "=1+1", "1.5 kg", "é ß 漢", None], object
    )
    table = {
        "number": np.where(
            rng.random(50) < 0.2, np.nan, (rng.normal(size=50) * 10.0 ** rng.integers(0, 6, 50)).round(2)
        ),
        "whole": np.where(rng.random(50) < 0.2, np.nan, rng.integers(-2_000_000, 2_000_000, 50)),
        "text": texts[rng.integers(0, len(texts), 50)],
        "kind": np.array([*"ab"], object)[np.arange(50) % 2],
    }
    return {"sep": sep, "decimal": decimal, "thousands": thousands, "na_values": markers}, table


def read_back(source, table):
    batches = source.batches(source.names, {"text", "kind"})
    found = pd.concat([as_pandas(batch) for batch in batches])
    for name in ("number", "whole"):
        np.testing.assert_allclose(found[name].astype(float), table[name])
    for name in ("text", "kind"):
        assert found[name].astype(object).where(found[name].notna(), None).tolist() == table[name].tolist()


@pytest.mark.parametrize("seed", some_seeds(20))
def test_a_table_written_with_any_marks_is_read_back(seed, place):
    """Markers of missing cells, separators, decimals, thousands, quotes, blanks, line ends, and gzip, at random."""
    rng = np.random.default_rng(seed)
    options, table = marks_of(rng)
    sep, end, quoting = options["sep"], rng.choice(["\n", "\r\n", "\r"]), rng.choice([0.0, 0.1, 1.0])

    def cell(value):
        absent = value is None or value != value
        number = "" if absent or isinstance(value, str) else f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
        shown = number.translate({ord(","): options["thousands"], ord("."): options["decimal"]}) if number else value
        shown = rng.choice(options["na_values"]) if absent else shown
        quoted = any(mark in shown for mark in (sep, '"', "\n", "\r")) or rng.random() < quoting
        shown = '"' + shown.replace('"', '""') + '"' if quoted else shown
        return f" {shown} " if not quoted and sep not in " \t" and rng.random() < 0.1 else shown

    rows = [[*table], *zip(*(column.tolist() for column in table.values()), strict=True)]
    written = end.join(sep.join(map(cell, row)) for row in rows).encode()
    name, content = ("any.csv.gz", gzip.compress(written)) if seed % 2 else ("any.csv", written)
    (place / name).write_bytes(content)
    read_back(open_data(name, READING.declare(options)), table)


FORMS = {
    "parquet": lambda frame: frame.to_parquet("any.parquet", row_group_size=20) or "any.parquet",
    "parquet of polars": lambda frame: pl.from_pandas(frame).write_parquet("any.parquet") or "any.parquet",
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"text": "category"}),
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": pa.Table.from_pandas,
    "parts": lambda frame: [frame[:7], frame[7:]],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", some_seeds(2))
@pytest.mark.usefixtures("place")
def test_a_table_of_any_form_is_read_back(seed, form):
    """Markers of missing cells are among the texts, and those that are numbers among the numbers."""
    rng = np.random.default_rng(seed)
    options, table = marks_of(rng)
    absent = {
        True: [*options["na_values"], None],
        False: [np.nan, *(99999.0 for marker in options["na_values"] if marker == "99999")],
    }
    marked = {
        name: np.where(pd.isna(column), rng.choice(absent[column.dtype == object], 50), column)
        for name, column in table.items()
    }
    read_back(open_table(FORMS[form](pd.DataFrame(marked)), READING.declare(options)), table)
