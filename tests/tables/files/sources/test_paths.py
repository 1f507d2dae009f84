"""Files that are not what their names say, and decimal commas: each named, with what to do."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bayesnb as nb
from bayesnb.studies.cli import main
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import as_pandas, open_data
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


@pytest.mark.parametrize("seed", range(20))
def test_a_table_written_with_any_marks_is_read_back(seed, place):
    """Markers of missing cells, separators, decimals, thousands, quotes and line ends, at random."""
    rng = np.random.default_rng(seed)
    sep, decimal = rng.choice([*",;|\t^ "]), rng.choice([*".,"])
    decimal = "." if sep == "," else decimal
    thousands = rng.choice([mark for mark in "'., " if mark not in (sep, decimal)])
    marker, end = rng.choice(["", "NA", "?", "-", "n. d.", "99999"]), rng.choice(["\n", "\r\n", "\r"])
    x = np.where(rng.random(50) < 0.2, np.nan, (rng.normal(size=50) * 10.0 ** rng.integers(0, 6, 50)).round(2))
    texts = np.array(["plain", 'with "quotes"', "two\nlines", "a,b;c|d", "'tis", "=1+1", "1.5 kg", None], object)
    text = texts[rng.integers(0, len(texts), 50)]

    def cell(value):
        absent = value is None or value != value
        number = f"{value:,.2f}" if isinstance(value, float) and not absent else ""
        shown = number.translate({ord(","): thousands, ord("."): decimal}) if number else value
        shown = marker if absent else shown
        quoted = any(mark in shown for mark in (sep, '"', "\n", "\r")) or rng.random() < 0.1
        return '"' + shown.replace('"', '""') + '"' if quoted else shown

    rows = [["number", "text", "kind"], *zip(x.tolist(), text, np.array([*"ab"])[np.arange(50) % 2], strict=True)]
    (place / "any.csv").write_bytes(end.join(sep.join(map(cell, row)) for row in rows).encode())
    options = {"sep": sep, "decimal": decimal, "thousands": thousands, "na_values": [marker]}
    source = open_data("any.csv", READING.declare(options))
    found = pd.concat([as_pandas(batch) for batch in source.batches(source.names, {"text", "kind"})])
    np.testing.assert_allclose(found["number"], x)
    assert found["text"].tolist() == text.tolist()
