"""Files and frames to blocks of features: kinds, codes, missing cells, and every way in which a table is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.compute.arrays import _limits as limits
from bayesnb.tables.files import _description as description
from bayesnb.tables.files._description import describe, make_table
from bayesnb.tables.files.sources._paths import of_frame, open_data
from bayesnb.tables.files.sources._source import row_batch
from bayesnb.tables.frames._series import DataError
from tests.reading import frame_of

HEADER = "flag,colour,rooms,height,label"
ROWS = [
    f"{'no' if i % 2 else 'yes'},{('red', 'green', 'blue')[i % 3]},{i % 4},{i * 1.25 + 0.5},{'ab'[i % 5 == 0]}"
    for i in range(20)
]


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def table_of(tmp_path, rows=ROWS, header=HEADER, target=None, overrides=None):
    return make_table(open_data(write(tmp_path, "\n".join([header, *rows]))), target, overrides)


def test_every_kind_is_found_and_encoded(tmp_path):
    table = table_of(tmp_path)
    assert [(c.name, c.kind) for c in table.columns] == [
        ("flag", "categorical"), ("colour", "categorical"), ("rooms", "categorical"), ("height", "normal")
    ]  # fmt: skip
    assert table.target == "label"  # the last column, where none is named
    assert table.classes == ("a", "b")
    assert_array_equal(table.y[:6], [1, 0, 0, 0, 0, 1])
    assert [column.values for column in table.blocks["categorical"][:2]] == [("no", "yes"), ("blue", "green", "red")]
    assert_array_equal(table.X["categorical"][:4], [[1, 2, 0], [0, 1, 1], [1, 0, 2], [0, 2, 3]])
    assert_allclose(table.X["numeric"][:2, 0], [0.5, 1.75])
    assert table.warnings == ()


@pytest.mark.parametrize("missing", ["", "NA", "nan", "NaN", "?", "  ", " ? "])
def test_a_missing_cell_is_missing_in_every_kind(tmp_path, missing):
    table = table_of(tmp_path, [*ROWS, ",".join([missing] * 4 + ["a"])])
    assert_array_equal(table.X["categorical"][-1], [-1, -1, -1])
    assert np.isnan(table.X["numeric"][-1, 0])
    assert [c.missing for c in table.columns] == [1, 1, 1, 1]


def test_rows_without_a_target_are_dropped_and_counted(tmp_path):
    table = table_of(tmp_path, [*ROWS, "yes,violet,1,2.5,NA", "no,red,1,2.5,"])
    assert len(table.y) == 20
    assert table.num_unlabelled == 2
    assert "violet" not in table.blocks["categorical"][1].values  # nor does such a row add a category


def test_what_is_skipped_is_not_read(tmp_path):
    frame = pd.DataFrame({"pair": [[1, 2]] * 20, "when": pd.date_range("2020-01-01", periods=20), "size": range(20)})
    path = str(tmp_path / "data.parquet")
    frame.assign(label=["a", "b"] * 10).to_parquet(path)
    with pytest.raises(DataError, match=r"no column to learn from; left out are 'pair' \(cells of type List"):
        make_table(open_data(path))
    with pytest.raises(DataError, match=r"column 'pair' holds List.*expected numbers, booleans or text"):
        make_table(open_data(path), None, {"pair": "categorical"})
    for kinds in ({"pair": "skip", "size": "normal"}, {"p*": "skip", "size": "normal"}):
        table = make_table(open_data(path), None, kinds)
        assert dict(table.left_out) == {"pair": "skipped, as asked", "when": "dates or times"}
        assert_array_equal(table.X["numeric"][:, 0], range(20))


def test_id_like_columns_are_left_out_and_named_but_an_override_keeps_them(tmp_path):
    rows = [f"p{i},{i},{row}" for i, row in enumerate(ROWS)]
    header = "patient,row," + HEADER
    reasons = dict(table_of(tmp_path, rows, header).left_out)
    assert reasons == {"patient": "a different text in nearly every row", "row": "a number for each row"}
    kept = table_of(tmp_path, rows, header, overrides={"row": "normal", "patient": "categorical", "height": "skip"})
    kinds = {c.name: c.kind for c in kept.columns}
    assert (kinds["row"], kinds["patient"]) == ("normal", "categorical")
    assert dict(kept.left_out) == {"height": "skipped, as asked"}


def test_an_override_may_be_a_pattern_and_an_exact_name_wins(tmp_path):
    rows = [f"{i % 4},{i % 3},{'ab'[i % 2]}" for i in range(20)]
    table = table_of(tmp_path, rows, "x1,x2,label", overrides={"x*": "normal", "x2": "categorical"})
    assert [(c.name, c.kind) for c in table.columns] == [("x2", "categorical"), ("x1", "normal")]


def test_columns_with_at_most_one_value_are_left_out_with_a_warning(tmp_path):
    rows = [f"7,,{'' if i else 3},{row}" for i, row in enumerate(ROWS)]
    table = table_of(tmp_path, rows, "same,void,once," + HEADER)
    assert dict(table.left_out) == {"same": "one value only", "void": "nothing in it", "once": "one value only"}
    assert table.warnings == (
        "column 'void' has nothing in it and is left out",
        "columns 'same', 'once' have one value only and are left out",
    )


def test_a_value_never_seen_counts_as_missing(tmp_path):
    table = table_of(tmp_path)
    flag, colour = table.columns[:2]
    assert_array_equal(colour.encode(pd.Series(["red", "mauve", None], dtype=object)), [2, -1, -1])
    assert_array_equal(flag.encode(pd.Series(["yes", "perhaps", None], dtype=object)), [1, -1, -1])


def test_numeric_classes_are_sorted_as_numbers_and_written_without_a_point(tmp_path):
    table = table_of(tmp_path, [f"{i * 0.3},{[10, 9, -1][i % 3]}" for i in range(12)], "x,label")
    assert table.classes == ("-1", "9", "10")
    assert_array_equal(table.y[:3], [2, 1, 0])


def test_odd_spelling_of_csv(tmp_path):
    text = 'label;"the; name";x\r\n\r\na ;"1;5";2.5\r\n b;z;"3.5"\r\na;z;1\r\nb;"1;5";NA\r\n\r\n'
    frame = frame_of(write(tmp_path, b"\xef\xbb\xbf" + text.encode()))
    assert list(frame.columns) == ["label", "the; name", "x"]  # neither a byte-order mark nor quotes remain
    assert list(frame.index) == [3, 4, 5, 6]  # lines of the file
    assert frame["the; name"].tolist() == ["1;5", "z", "z", "1;5"]
    assert_array_equal(frame["x"], [2.5, 3.5, 1.0, np.nan])
    assert frame["label"].tolist() == ["a", "b", "a", "b"]


def test_text_among_numbers_is_pointed_out(tmp_path):
    rows = [f"{'unknown' if i == 3 else i % 7 + 0.5},{'ab'[i % 2]}" for i in range(20)]
    table = table_of(tmp_path, rows, "age,label")
    assert table.warnings == (
        "column 'age' is read as text because of 'unknown' on line 5: if it stands for a missing cell, read the table "
        "with na_values=['unknown'] (--na-values)",
    )
    with pytest.raises(DataError, match="cannot be normal: 'unknown' on line 5 is not a number"):
        table_of(tmp_path, rows, "age,label", overrides={"age": "normal"})


@pytest.mark.parametrize(("header", "warned"), [("39,State,label", True), ("0,1,label", False), ("x,y,label", False)])
def test_a_row_of_data_in_place_of_the_header_is_pointed_out(tmp_path, header, warned):
    table = table_of(tmp_path, [f"{i % 5}.5,{i % 3},{'ab'[i % 2]}" for i in range(20)], header)
    assert any("header line missing" in warning for warning in table.warnings) is warned


@pytest.mark.parametrize(("name", "shape", "classes"), [("iris", (150, 4), 3), ("breast_cancer", (569, 30), 2)])
def test_data_sets_of_scikit_learn(name, shape, classes):
    table = make_table(open_data(name))
    assert table.X["numeric"].shape == shape
    assert len(table.classes) == classes
    assert np.bincount(table.y).sum() == shape[0]


def test_digits_has_all_kinds_and_three_columns_that_never_vary():
    table = make_table(open_data("digits"))
    assert set(table.X) == {"binary", "categorical", "numeric"}
    assert [name for name, _ in table.left_out] == ["pixel_0_0", "pixel_4_0", "pixel_4_7"]
    assert len(table.columns) == 61
    assert all(c.values == tuple(sorted(c.values)) for c in table.columns)


GOOD = "\n".join([HEADER, *ROWS])
MEASURED = "x,y\n" + "\n".join(f"{i % 7}.5,{i * 0.7:.2f}" for i in range(40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n\n", "is empty"),
        (HEADER + "\n", "has a header and no rows"),
        (GOOD + "\nyes,red", "line 22 of '.*' has 2 cells where the header has 5"),
        (GOOD + "\nyes,red,1,2,a,b", "line 22 of '.*' has 6 cells where the header has 5"),
        (HEADER + '\n"two\nlines",red,1,2,a\n\nno,red,1,a', "line 5 of '.*' has 4 cells"),
        (GOOD.replace("colour", "flag", 1), "more than one column named 'flag'"),
        (GOOD.replace("yes", "j\u00e4").encode("latin-1"), "is not UTF-8 text .*0xe4"),
        (GOOD.replace(",4.25", ",inf"), "column 'height' holds an infinite number on line 5"),
        (GOOD.replace(",4.25", ",-1e999"), "column 'height' holds an infinite number on line 5"),
        (GOOD.replace(",4.25", ',"4.25'), "line 5 of '.*' is not CSV: a cell is not enclosed by its quotes"),
        (GOOD.replace(",4.25", ',"4"25'), "line 5 of '.*' is not CSV: a cell is not enclosed by its quotes"),
        ("x,y\n1,a\n2,a\n3,a", "the target 'y' has one class only, 'a'"),
        ("x,y\n1,a\n2,b\n3,c", "the target 'y' has 3 classes in 3 rows"),
        ("x,y\n1,\n2,NA\n", "the target 'y' has nothing in it"),
        (MEASURED, "the target 'y' is a measurement"),
        ("y\na\nb\na\nb", "no column to learn from but the target, 'y'$"),
        ("a:y\n1:u\n2:v", r"no column to learn from but the target, 'a:y': .* sep=\.\.\. or --sep"),
        ("x,y\n1,a\n1,b\n1,a\n1,b", "no column to learn from; left out are 'x' .one value only."),
    ],
)
def test_refused_tables(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        make_table(open_data(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("target", "overrides", "message"),
    [
        ("Label", {}, "has no column 'Label'; did you mean 'label'"),
        ("zzz", {}, "has no column 'zzz'; its columns are 'flag', 'colour'"),
        (None, {"rom": "normal"}, "no column 'rom' to treat as normal; did you mean 'rooms'"),
        (None, {"label": "normal"}, "is the target"),
        (None, {"colour": "normal"}, "'colour' holds text, which cannot be normal: 'red' on line 2 is not a number"),
        (None, {"colour": "bernoulli"}, "'colour' holds text, which cannot be bernoulli: make it categorical"),
        (None, dict.fromkeys(["flag", "colour", "rooms", "height"], "skip"), "no column to learn from"),
    ],
)
def test_refused_wishes(tmp_path, target, overrides, message):
    with pytest.raises(DataError, match=message):
        table_of(tmp_path, target=target, overrides=overrides)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("brest_cancer", "did you mean 'breast_cancer'"),
        ("nosuch.csv", "built-in data sets are iris"),
        ("empty", "holds no files that end in"),
    ],
)
def test_refused_files(name, message, place):
    (place / "empty").mkdir()
    with pytest.raises(ValueError, match=message):
        open_data(name)


def test_the_rows_of_a_split_keep_features_and_labels_together():
    frame = pd.DataFrame({"x": np.arange(12) / 4.0, "g": np.array(list("abc") * 4, dtype=object)})
    frame["label"] = np.array(list("uuvv") * 3, dtype=object)
    table = make_table(of_frame("small", frame), "label")
    X, y = table.rows(np.array([5, 0]))
    assert_allclose(X["numeric"][:, 0], [1.25, 0.0])
    assert_array_equal(X["categorical"][:, 0], [2, 0])
    assert_array_equal(y, [0, 0])


def test_a_number_too_large_to_be_squared_is_refused(tmp_path):
    rows = [*ROWS[:7], ROWS[7].replace("9.25", "1e160"), *ROWS[8:]]
    with pytest.raises(DataError, match=r"'height' holds 1e\+160 on line 9, which is too large to be squared"):
        table_of(tmp_path, rows)


def test_a_tsv_file_is_split_at_tabs_alone(tmp_path):
    text = "label\ttext, with a comma\n" + "".join(f"{'ab'[i % 2]}\tone, two, {i % 3}\n" for i in range(12))
    table = make_table(open_data(write(tmp_path, text, "data.tsv")), "label")
    assert [column.name for column in table.columns] == ["text, with a comma"]


def test_no_batch_is_kept_of_a_file_that_will_not_fit(tmp_path, monkeypatch):
    table = pa.table({"x": np.arange(40_000) % 977 / 4, "y": ["a", "b"] * 20_000})
    pq.write_table(table, tmp_path / "rows.parquet")
    monkeypatch.setattr(limits, "KEPT_BYTES", 400_000)  # the first quarter of the rows would, all of them take more
    monkeypatch.setattr(limits, "BATCH_BYTES", 160_000)
    seen = []
    monkeypatch.setattr(description, "row_batch", lambda *of: seen.append(of) or row_batch(*of))
    describe(open_data(str(tmp_path / "rows.parquet")), "y")
    assert seen == []
