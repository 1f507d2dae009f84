"""CSV files: every door reads the same rows, and refuses the others in the same sentences."""

import bz2
import gzip
import io
import re
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.studies.cli import main
from bayesnb.tables.files.sources._csv import end_of_rows, find_rows, irregular_quote
from bayesnb.tables.files.sources._paths import open_data
from tests.reading import frame_of

pytestmark = pytest.mark.usefixtures("place")

NORMAL = nb.NaiveBayes(nb.Normal())
ROWS = [f"{i % 7}.5,{i % 5},{'uv'[i % 2]}" for i in range(30)]
GOOD = "\n".join(["a,b,label", *ROWS]) + "\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    (place / "good.csv").write_text(GOOD)
    as_numbers = ["--as", "a=normal", "--as", "b=normal"]
    saved = str(place / "a.model")
    assert CliRunner().invoke(main, ["fit", str(place / "good.csv"), "--save", saved, *as_numbers]).exit_code == 0
    return saved


def sentences(name, model):
    """What each door says of a file; empty if it is read."""
    found = []
    for args in (["compare", name], ["fit", name, "--save", "b.model"], ["predict", model, name, "--out", "out.csv"]):
        if args[0] == "compare":
            args += ["--sizes", "5", "--repeats", "1", "--no-nuts", "--out", "nowhere.csv/out"]
        result = CliRunner().invoke(main, args)
        found.append(result.stderr.strip() if result.exit_code else "")
    try:
        nb.stream(NORMAL, name, label="label", columns=["a", "b"])
    except ValueError as error:
        found.append(str(error))
    else:
        found.append("")
    return found


QUOTES = (
    "line 8 of 'odd.csv' is not CSV: a cell is not enclosed by its quotes; enclose the whole cell, and write a quote "
    'inside it twice: "5"" wide" for 5" wide'
)
BROKEN = {
    "a short row": (GOOD.replace(ROWS[6], "1,2"), "line 8 of 'odd.csv' has 2 cells where the header has 3"),
    "a long row": (GOOD.replace(ROWS[6], "1,2,u,4"), "line 8 of 'odd.csv' has 4 cells where the header has 3"),
    "after a blank line": (GOOD.replace(ROWS[6], "\n1"), "line 9 of 'odd.csv' has 1 cell where the header has 3"),
    "after lines in quotes": (
        GOOD.replace(ROWS[4], '1,2,"u\n\nv"').replace(ROWS[6], "1"),
        "line 10 of 'odd.csv' has 1 cell where the header has 3",
    ),
    "an open quote": (GOOD.replace(ROWS[6], '1,"2,u'), QUOTES),
    "an open quote before others": (GOOD.replace(ROWS[6], '1,"2,u').replace(ROWS[9], '1,"","v"'), QUOTES),
    "text after a quote": (GOOD.replace(ROWS[6], '1,"2"3,u'), QUOTES),
    "text before a quote": (GOOD.replace(ROWS[6], '1,2,5"'), QUOTES),
    "a space before quotes": (GOOD.replace(ROWS[6], '1, "2",u'), QUOTES),
    "a quote in the header": (GOOD.replace("b", 'b"', 1), QUOTES.replace("line 8", "line 1")),
    "latin-1": (
        GOOD.replace(ROWS[6], "1,\u00e4,u").encode("latin-1"),
        "'odd.csv' is not UTF-8 text (line 8 holds the byte 0xe4); save it as UTF-8",
    ),
    "UTF-16": (GOOD.encode("utf-16"), "'odd.csv' is UTF-16 text, expected CSV: save it as UTF-8"),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), "'odd.csv' is UTF-16 text, expected CSV: save it as UTF-8"),
    "two columns of one name": (GOOD.replace("a,b", "a,a", 1), "'odd.csv' has more than one column named 'a'"),
    "nothing": ("", "'odd.csv' is empty: give a file with a header line and rows below it"),
    "a header": ("a,b,label\n", "no rows"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(64), "'odd.csv' is an old Excel workbook, expected CSV"),
    "gzip": (gzip.compress(GOOD.encode()), "'odd.csv' is compressed by gzip, expected CSV: unpack it first"),
}


@pytest.mark.parametrize("block_bytes", [4 << 20, 40])
@pytest.mark.parametrize("how", BROKEN)
def test_every_door_refuses_a_broken_file_in_the_same_sentence(how, block_bytes, place, model, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", block_bytes)
    content, sentence = BROKEN[how]
    (place / "odd.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    found = sentences("odd.csv", model)
    assert [sentence in words for words in found] == [True] * 4, found
    assert not any("\n" in words for words in found)


@pytest.mark.slow
def test_every_door_names_the_line_of_a_bad_number(place, model):
    (place / "odd.csv").write_text(GOOD.replace(ROWS[20], "1.2.3,2,u"))
    text, (predict, stream) = "'1.2.3' on line 22", sentences("odd.csv", model)[2:]
    assert frame_of("odd.csv")["a"].dtype == object
    assert (
        f"column 'a' is read as text because of {text}"
        in CliRunner().invoke(main, ["fit", "odd.csv", "--save", "b"]).output
    )
    assert "'odd.csv', line 22: column 'a' holds text, '1.2.3', and the model was fitted to numbers" in predict
    assert "'odd.csv', line 22: column 'a' holds '1.2.3', which is not a number; a model takes numbers" in stream
    (place / "odd.csv").write_text(GOOD.replace(ROWS[20], "1e999,2,u"))
    *tables, predict, stream = sentences("odd.csv", model)
    assert all("column 'a' holds an infinite number on line 22 of 'odd.csv'" in words for words in tables)
    assert "'odd.csv', line 22: column 'a' holds an infinite number" in predict
    assert re.search(r"'odd.csv', line 22: block 'x', column 0: .*got inf", stream)


def test_infinite_is_text_where_text_follows(place, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 40)
    (place / "odd.csv").write_text(GOOD.replace(ROWS[2], "inf,2,u").replace(ROWS[20], "none,2,u"))
    assert frame_of("odd.csv")["a"].tolist()[2] == "inf"


def test_every_door_names_the_row_of_an_infinite_number_in_parquet(model):
    frame = pd.read_csv(io.StringIO(GOOD))
    frame.loc[20, "a"] = np.inf
    frame.to_parquet("odd.PARQUET")
    *tables, predict, stream = sentences("odd.PARQUET", model)
    assert all("column 'a' holds an infinite number in row 21 of 'odd.PARQUET'" in words for words in tables)
    assert "'odd.PARQUET', row 21: column 'a' holds an infinite number" in predict
    assert re.search(r"'odd.PARQUET', row 21: block 'x', column 0: .*got inf", stream)


READ = {
    "odd.csv": GOOD.encode(),
    "mark.csv": b"\xef\xbb\xbf" + GOOD.encode(),
    "semicolons.CSV": GOOD.replace(",", ";").encode(),
    "tabs.TSV": GOOD.replace(",", "\t").encode(),
    "returns.csv": GOOD.replace("\n", "\r\n").encode(),
    "old.csv": GOOD.replace("\n", "\r").encode(),
    "spaces.csv": GOOD.replace(",", " , ").encode(),
    "quotes.csv": re.sub("([^,\n]+)", r'"\1"', GOOD).encode(),
    "blank.csv": GOOD.replace("\n", "\n\n  \n").encode(),
    "packed.csv.GZ": gzip.compress(GOOD.encode()),
    "packed.csv.bz2": bz2.compress(GOOD.encode()),
}


@pytest.mark.parametrize("block_bytes", [4 << 20, 60])
@pytest.mark.parametrize("name", READ)
def test_every_door_reads_the_same_rows(name, block_bytes, place, monkeypatch):
    (place / name).write_bytes(READ[name])
    expected = pd.read_csv(io.StringIO(GOOD))
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", block_bytes)
    frame = frame_of(name)
    assert_allclose(frame[["a", "b"]], expected[["a", "b"]])
    assert frame["label"].tolist() == expected["label"].tolist()
    codes = np.unique(expected["label"], return_inverse=True)[1]
    whole = nb.sufficient_statistics(NORMAL, expected[["a", "b"]].to_numpy(float), codes)
    streamed = nb.stream(NORMAL, name, label="label")
    assert_allclose(streamed.blocks["x"].mean, whole.blocks["x"].mean)
    assert streamed.class_counts.tolist() == whole.class_counts.tolist()


def test_lines_are_those_of_the_file(place, monkeypatch):
    text = 'a,b\r\n1,"x\r\ny""z\n"\r\n\r\n2,w\n3,"=x"\r4,\'=y\n'
    (place / "odd.csv").write_bytes(text.encode())
    for block_bytes in (4 << 20, 20, 5):
        monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", block_bytes)
        frame = frame_of("odd.csv")
        assert frame.index.tolist() == [2, 6, 7, 8]
        assert frame["b"].tolist() == ['x\r\ny"z', "w", "=x", "=y"]
        assert frame["a"].tolist() == [1, 2, 3, 4]


def test_blocks_end_where_rows_end():
    assert end_of_rows(b"a,b\nc") == 4
    assert end_of_rows(b'a,"b\n') == 0
    assert end_of_rows(b'a,b\n"c\n') == 4
    assert end_of_rows(b'"a\nb","c\n') == 0
    assert end_of_rows(b"a,b\r\nc\r") == 5


def test_a_header_may_be_longer_than_what_is_read_first(place, monkeypatch):
    monkeypatch.setattr(limits, "CSV_HEAD_BYTES", 6)
    (place / "odd.csv").write_text('"first\n name","second name"\r\n\r\n1,2\r\n')
    frame = frame_of("odd.csv")
    assert (frame.columns.tolist(), frame.index.tolist()) == (["first\n name", "second name"], [4])


def test_blank_blocks_and_a_header_without_rows(place, monkeypatch):
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 6)
    (place / "odd.csv").write_text("a,b\n1,2\n\n\n  \n\n\n\n\n\n3,4\n\n\n\n\n  ")
    assert frame_of("odd.csv").index.tolist() == [2, 11]
    (place / "odd.csv").write_text("a,b")
    assert open_data("odd.csv").names == ["a", "b"]


def test_rows_have_starts_lines_and_widths():
    starts, lines, widths = find_rows(b'a\n\n"b,\n"\n \t\r,c', ",")
    assert (starts.tolist(), lines.tolist(), widths.tolist()) == ([0, 3, 12], [0, 2, 5], [1, 1, 2])
    assert find_rows(b" \n\t\n", "\t")[0].tolist() == [2]  # two empty cells are a row


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"a,b\n", None), (b'"a","b ""c"" d"\r\n"""x"', None), (b'""', None), (b'a,""""\n', None),
        (b'a,b"\n', 3), (b'a,"b" \n', 2), (b'a,"b""c', 2), (b'"a",b"c"\n', 5), (b'a, "b"\n', 3),
    ],
)  # fmt: skip
def test_quotes_enclose_whole_cells(raw, place):
    assert irregular_quote(raw, ",") == place


def test_blank_lines_and_empty_quotes_in_a_file_of_one_column(place):
    (place / "one.csv").write_text('a\n1\n\n  \n""\n2\n')
    frame = frame_of("one.csv")
    assert frame.index.tolist() == [2, 5, 6]
    assert_allclose(frame["a"], [1, np.nan, 2])
    (place / "one.csv").write_text('a\n"u\n  \nv"\n  \nw\n')
    assert frame_of("one.csv")["a"].to_dict() == {2: "u\n  \nv", 6: "w"}


def test_apostrophes_that_protect_spreadsheets_are_taken_off_in_streams_too(place):
    (place / "odd.csv").write_text("a,b,label\n" + "1,2,'=u\n3,4,'tis\n" * 4)
    found = nb.stream(NORMAL, "odd.csv", label="label", classes=["=u", "'tis"])
    assert found.class_counts.tolist() == [4, 4]


def test_true_and_false_are_numbers_in_streams(place):
    (place / "odd.csv").write_text("a,b,label\n" + "true,2,false\nFalse,4,true\n,1,true\n" * 4)
    found = nb.stream(NORMAL, "odd.csv", label="label")
    assert found.class_counts.tolist() == [4, 8]
    assert found.blocks["x"].mean[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("name", ["rows.CSV", "rows.Tsv", "rows.PARQUET", "rows.Pq"])
def test_endings_in_capitals(name, place):
    table = pa.table({"a": [1.0, 2.0, 3.5], "label": [0, 1, 1]})
    if "p" in name.lower():
        pq.write_table(table, name)
    else:
        table.to_pandas().to_csv(name, index=False, sep="\t" if "t" in name.lower() else ",")
    assert nb.stream(NORMAL, name, label="label").class_counts.tolist() == [1, 2]
    assert nb.stream(NORMAL, place, label="label").class_counts.tolist() == [1, 2]
    assert open_data(name).names == ["a", "label"]


def test_a_zip_archive_is_refused_at_every_door(model):
    with zipfile.ZipFile("odd.csv", "w") as archive:
        archive.writestr("rows.csv", GOOD)
    assert all(
        "'odd.csv' is an Excel workbook or another zip archive" in words for words in sentences("odd.csv", model)
    )


def test_fit_warns_of_a_missing_header_as_compare_does(place):
    (place / "odd.csv").write_text("39,State,label\n" + "\n".join(ROWS))
    result = CliRunner().invoke(main, ["fit", "odd.csv", "--save", "b.model"])
    assert "warning: the header names a column '39'; is the header line missing?" in result.output


def test_the_target_cannot_be_skipped_even_if_it_is_not_named(place):
    (place / "good.csv").write_text(GOOD)
    for args in (["compare", "good.csv"], ["fit", "good.csv", "--save", "b.model"]):
        result = CliRunner().invoke(main, [*args, "--as", "label=skip"])
        assert result.exit_code == 2
        assert "column 'label' is the target, so it has no kind to choose" in result.output


# marks in numbers, and between cells

HEAD, SIZES = "size;kind\n", [f"{i * 37.25:.2f}" for i in range(1, 41)]


def written(name, cells, sep=";", head=HEAD):
    rows = (f"{cell}{sep}{'ab'[i % 2]}\n" for i, cell in enumerate(cells))
    Path(name).write_text(head.replace(";", sep) + "".join(rows))
    return name


def said_of(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf = fit()
    return clf, "; ".join(str(one.message) for one in caught)


def fitted(*args, **options):
    return said_of(lambda: nb.fit_table(*args, temper=False, **options))


def test_marks_that_are_declared_are_remembered_and_overridden():
    plain, _ = fitted(written("plain.csv", SIZES, ","))
    german = [f"{float(cell):,.2f}".translate(str.maketrans(",.", ".,")) for cell in SIZES]
    clf, said = fitted(written("german.csv", german, "|"), sep="|", decimal=",", thousands=".")
    assert not said
    assert_allclose(clf.fit_.model.families["numeric"].loc, plain.fit_.model.families["numeric"].loc, rtol=1e-15)
    expected = plain.predict_proba([{"size": 1234.5}])
    nb.save(clf, "model")
    Path("new.csv").write_text('size|id\n1.234,5|"a|b"\n')
    Path("other.csv").write_text("size;id\n1234.5;7\n")
    for model in (clf, nb.load("model")):
        for name, options in [("new.csv", {}), ("other.csv", {"sep": ";", "decimal": ".", "thousands": ","})]:
            found = nb.predict_table(model, name, keep="id", **options).to_pandas()
            assert_allclose(found.filter(like="p("), expected)
    result = CliRunner().invoke(
        main, ["fit", "german.csv", "--save", "b", *["--sep", "|", "--decimal", ",", "--thousands", "."]]
    )
    assert result.exit_code == 0, result.output
    result = CliRunner().invoke(main, ["predict", "b", "new.csv"])
    assert result.exit_code == 0, result.output


def test_decimal_commas_of_all_columns_of_a_file_with_semicolons_are_read():
    commas = [cell.replace(".", ",") for cell in SIZES]
    clf, said = fitted(written("rows.csv", commas))
    assert said == "numbers such as '1005,75' have decimal commas, and are read so: decimal=',', --decimal ,"
    assert (clf.schema_.columns[0].span, clf.schema_.reading.decimal) == ((37.25, 1490.0), None)
    with pytest.raises(ValueError, match="because of '37,25' on line 2, which looks like"):
        fitted("rows.csv", decimal=".")
    assert fitted(written("rows.csv", [f"1.{cell[-3:]},5" if i else "7" for i, cell in enumerate(["100"] * 20)]))[0]
    with open("rows.csv", "a") as file:
        file.write("1.5;a\n")
    assert "because of '1.100,5'" in fitted("rows.csv")[1]  # not all are decimal commas


def test_whole_numbers_beside_points_in_a_file_with_semicolons_may_be_thousands():
    cells = [f"{i * 37:,}".replace(",", ".") for i in range(1, 61)]
    clf, said = fitted(written("rows.csv", cells))
    assert said.startswith("column 'size' has whole numbers and '1.036': if its point is one between thousands")
    clf, said = fitted("rows.csv", thousands=".")
    assert (said, clf.schema_.columns[0].span) == ("", (37.0, 2220.0))
    assert fitted(written("rows.csv", cells, ","))[1] == ""
    assert fitted(written("rows.csv", [f"{cell}5" for cell in cells if "." in cell]))[1] == ""


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("{} kg", "because its numbers have the unit 'kg', as in \"1 kg\""),
        ("{}%", "because its numbers have the unit '%', as in \"1%\""),
        ("${}", "because its numbers have the unit '$', as in \"$1\""),
        ("{}'000", 'thousands are apart, as in "1\'000": read the file with thousands="\'"'),
    ],
)
def test_numbers_with_units_are_named_with_the_cure(form, words):
    _, said = fitted(written("rows.csv", [form.format(i % 12 + 1) for i in range(60)]))
    assert f"column 'size' is read as text {words}" in said.replace("because its thousands", "thousands")
    assert fitted(written("rows.csv", [f"{i % 12}{'abcdef'[i % 6]}" for i in range(60)]))[1] == ""


def test_a_number_for_missing_cells_is_a_hint():
    clf, said = fitted(written("rows.csv", [*SIZES[:9], "-999", *SIZES]))
    assert "column 'size' holds -999, far outside its other numbers, 37.25 to 1490: if it" in said
    clf, said = fitted("rows.csv", na_values=[-999])
    assert (said, clf.schema_.columns[0].missing) == ("", 1)
    assert fitted(written("rows.csv", ["999", *SIZES]))[1] == ""


@pytest.mark.parametrize(
    "head",
    ["size|kind\n", "size kind\n", "sep=;\nsize;kind\n", "# of today, by me\nsize;kind\n", "# today; me\nsize;kind\n"],
)
def test_other_separators_are_named_with_the_option(head):
    sep = next(mark for mark in ";| " if mark in head.splitlines()[-1])
    written("rows.csv", SIZES, sep, head)
    with pytest.raises(ValueError, match=r"is no header: commas, semicolons and tabs separate cells; .* sep='\|'"):
        nb.fit_table("rows.csv")
    if head.count("\n") == 1:
        assert fitted("rows.csv", sep=sep)[0].likelihoods_ == {"size": "normal"}
    assert fitted(written("rows.csv", SIZES, ";", "#size;kind\n"))[0].likelihoods_ == {"#size": "normal"}
