"""`bayesnb fit`, `predict` and `explain`: a model in a file, from rows in blocks; one sentence for every mistake."""

import csv
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import bayesnb as nb
from bayesnb.compute.arrays import _limits as limits
from bayesnb.inspection._explain import explain
from bayesnb.studies.cli import main

ROWS = [
    f"{'yes' if i % 3 else 'no'},{('red', 'green', 'blue')[i * 5 % 3]},{i * 0.37 % 3:.2f},{i % 4},{'ab'[i % 5 < 2]}"
    for i in range(40)
]
GOOD = "\n".join(["flag,colour,height,rooms,label", *ROWS]) + "\n"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def fitted(*options):
    result = run("fit", "good.csv", "--save", "m.model", *options)
    assert result.exit_code == 0, result.output
    return result


def predictions(text):
    rows = list(csv.reader(io.StringIO(text)))
    return rows[0], [row[0] for row in rows[1:]], np.array([row[1:] for row in rows[1:]], float)


def test_a_model_from_a_file_is_the_estimators():
    result = fitted()
    assert re.search(r"colour +categorical +text with 3 values: blue, green, red +\d+ +ordered, words", result.output)
    learned = "The model: 3 views of 1 number, dependence, powers learned on 40 of 40 rows"
    assert f"{learned}\nFitted to 40 rows; saved as m.model" in result.output
    frame = pd.read_csv("good.csv")
    kinds = {"flag": "categorical", "rooms": "categorical", "colour": "categorical"}
    clf = nb.NaiveBayesClassifier(kinds).fit(frame.drop(columns="label"), frame["label"])
    loaded = nb.load("m.model")
    assert_array_equal(loaded.classes_, ["a", "b"])
    rows = frame[loaded.feature_names_in_]
    assert_allclose(loaded.predict_proba(rows), clf.predict_proba(rows), atol=1e-12)
    header, best, proba = predictions(run("predict", "m.model", "good.csv").stdout)
    assert header == ["prediction", "p(a)", "p(b)"]
    assert best == list(clf.predict(rows))
    assert_array_equal(proba, loaded.predict_proba(rows))


def test_flags_of_missing_cells_are_asked_for(place):
    place.joinpath("good.csv").write_text(GOOD.replace("green", ""))
    assert "The model: 1 flag of missing cells\n" in fitted("--missing", "informative", "--method", "map").output
    assert nb.load("m.model").missing == "informative"
    assert "colour is missing" in run("explain", "m.model", "good.csv", "--row", "1").output
    assert "flag of" not in fitted("--missing", "none").output
    assert nb.load("m.model").missing is None


@pytest.mark.parametrize("method", ["posterior", pytest.param("map", marks=pytest.mark.slow), "mle", "averaged"])
def test_blocks_make_no_difference(monkeypatch, method):
    fitted("--method", method)
    whole = run("predict", "m.model", "good.csv").stdout
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 150)
    fitted("--method", method)
    assert_allclose(
        predictions(run("predict", "m.model", "good.csv").stdout)[2], predictions(whole)[2], rtol=1e-9, atol=1e-12
    )


@pytest.mark.slow
def test_a_column_that_turns_into_text_far_down_is_text_from_the_first(place, monkeypatch):
    lines = GOOD.splitlines()
    lines[30] = (
        lines[30].replace(",2,", ",two,").replace(",3,", ",two,").replace(",1,", ",two,").replace(",0,", ",two,")
    )
    (place / "good.csv").write_text("\n".join(lines) + "\n")
    whole = fitted().output
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 150)
    assert fitted().output == whole
    assert re.search(r"rooms +categorical +text with 5 values: 5 categories", whole)


def test_parquet_in_and_out():
    frame = pd.read_csv("good.csv")
    frame.to_parquet("good.parquet")
    fitted()
    text = run("predict", "m.model", "good.csv").stdout
    assert run("predict", "m.model", "good.parquet", "--out", "out.parquet").exit_code == 0
    out = pd.read_parquet("out.parquet")
    assert list(out.columns) == ["prediction", "p(a)", "p(b)"]
    assert_array_equal(out.iloc[:, 1:].to_numpy(), predictions(text)[2])
    assert run("fit", "good.parquet", "--save", "p.model").exit_code == 0
    assert_array_equal(predictions(run("predict", "p.model", "good.parquet").stdout)[2], predictions(text)[2])


def test_columns_are_copied():
    fitted()
    assert run("predict", "m.model", "good.csv", "--keep", "rooms", "--keep", "label", "--out", "o.csv").exit_code == 0
    out, frame = pd.read_csv("o.csv"), pd.read_csv("good.csv")
    assert list(out.columns) == ["rooms", "label", "prediction", "p(a)", "p(b)"]
    assert_array_equal(out[["rooms", "label"]], frame[["rooms", "label"]])


@pytest.mark.slow
def test_how_robust_each_prediction_is():
    fitted("--as", "height=skip")
    result = run("predict", "m.model", "good.csv", "--robustness", "--out", "o.csv")
    assert result.exit_code == 0, result.output
    loaded, frame = nb.load("m.model"), pd.read_csv("good.csv")
    assert list(pd.read_csv("o.csv").columns) == ["prediction", "p(a)", "p(b)", "s_star"]
    assert_allclose(pd.read_csv("o.csv")["s_star"], loaded.robustness(frame[loaded.feature_names_in_]), rtol=1e-9)
    fitted()
    refused = run("predict", "m.model", "good.csv", "--robustness", "--out", "numbers.csv")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "got Views: nb.prior_sensitivity says" in refused.stderr
    assert not Path("numbers.csv").exists()


def test_columns_may_stand_in_another_order_and_rows_may_be_unlabelled(place):
    fitted("--target", "label")
    frame = pd.read_csv("good.csv")
    frame[["rooms", "height", "label", "colour", "flag"]].drop(columns="label").to_csv("other.csv", index=False)
    assert run("predict", "m.model", "other.csv").stdout == run("predict", "m.model", "good.csv").stdout
    (place / "good.csv").write_text(GOOD + "yes,red,1.0,2,\n")
    assert "Rows left out because 'label' is missing: 1" in fitted().output


def test_the_column_that_is_taken_without_a_target_is_named():
    line = "No --target is given, so the last column, 'label', is the target"
    assert line in fitted().output
    assert line not in fitted("--target", "label").output


def test_numbers_that_were_categories_of_text_are_read_as_text(place):
    rows = [f"{('1', '2', 'x')[i % 3]},{'ab'[i % 2]}" for i in range(30)]
    (place / "good.csv").write_text("\n".join(["code,label", *rows]) + "\n")
    fitted()
    (place / "new.csv").write_text("code\n1\n2\n")
    assert len(predictions(run("predict", "m.model", "new.csv").stdout)[1]) == 2


@pytest.mark.slow
def test_explained_parts_add_up_to_the_prediction():
    fitted("--as", "rooms=poisson")
    result = run("explain", "m.model", "good.csv", "--row", "17")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    signed = {line[0]: [word for word in line if word[0] in "+-"] for line in lines if line}
    nats = {name: float(words[0]) for name, words in signed.items() if words}
    loaded = nb.load("m.model")
    row = pd.read_csv("good.csv")[loaded.feature_names_in_].iloc[16:17]
    total = np.log(loaded.predict_proba(row)).max() - np.log(loaded.predict_proba(row)).min()
    assert nats.pop("log") == pytest.approx(total, abs=2e-3)
    assert sum(nats.values()) == pytest.approx(total, abs=5e-3)
    assert set(nats) == {"class", "flag", "colour", "height", "rooms", "dependence"}
    assert "intervals" not in result.stdout
    assert "more rows" not in result.stdout  # there are numbers, and only of categories is it exact
    fitted("--as", "rooms=categorical", "--as", "height=histogram")
    result, loaded = run("explain", "m.model", "good.csv", "--row", "17"), nb.load("m.model")
    assert explain(loaded, row).change() in result.stdout
    assert "as probable as" in result.stdout


def test_parts_without_dependence_have_intervals():
    assert "The model:" not in fitted("--no-temper").output
    result = run("explain", "m.model", "good.csv", "--row", "17")
    assert result.exit_code == 0, result.output
    assert "with 90 % intervals" in result.stdout
    assert "dependence" not in result.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["fit", "nowhere.csv", "--save", "m"], "there is no file 'nowhere.csv'"),
        (["fit", "good.csv", "--save", "no/m"], "'no/m' cannot be written: there is no folder"),
        (["fit", "good.csv", "--save", "m", "--target", "lable"], "did you mean 'label'"),
        (["fit", "good.csv", "--save", "m", "--method", "mpa"], "did you mean 'map'?"),
        (["fit", "good.csv", "--save", "m", "--method", "tempered"], "tempering is an argument"),
        (["fit", "good.csv", "--save", "m", "--smoothing", "lots"], "'lots' is not a valid number"),
        (["fit", "good.csv", "--save", "m", "--smoothing", "0"], "smoothing must be a number from"),
        (
            ["fit", "good.csv", "--save", "m", "--as", "colour=normal"],
            "column 'colour' holds text, which cannot be normal",
        ),
        (["fit", "good.csv", "--save", "m", "--as", "height=poisson"], "cannot be poisson"),
        (["fit", "empty.csv", "--save", "m"], "'empty.csv' is empty"),
        (["fit", "cut.parquet", "--save", "m"], "'cut.parquet' cannot be read as Parquet"),
        (["predict", "good.csv", "good.csv"], "'good.csv' is damaged, or was not written by nb.save"),
        (["predict", "stats", "good.csv"], "'stats' holds a Posterior, expected a model that 'bayesnb fit' wrote"),
        (["predict", "nowhere", "good.csv"], "'nowhere' cannot be read"),
        (["predict", "m.model", "narrow.csv"], "the rows have no column 'height'"),
        (["predict", "m.model", "odd.csv"], "column 'height' holds text, 'tall', and the model was fitted to numbers"),
        (["predict", "m.model", "texts.parquet"], "'texts.parquet', row 1: column 'height' holds numbers that are"),
        (["predict", "m.model", "good.csv", "--out", "x.xls"], "written to a .csv or a .parquet file"),
        (["predict", "m.model", "good.csv", "--out", "no/x.csv"], "'no/x.csv' cannot be written"),
        (["predict", "m.model", "good.csv", "--costs", "no.csv"], "File 'no.csv' does not exist"),
        (["predict", "m.model", "good.csv", "--keep", "lable"], "keep names the column 'lable', which 'good.csv' does"),
        (["explain", "m.model", "good.csv", "--row", "41"], "has 40 rows, so there is no row 41"),
        (["explain", "m.model", "narrow.csv", "--row", "1"], "the rows have no column 'height'"),
        (["explain", "m.model", "odd.csv", "--row", "1"], "'odd.csv', line 2: column 'height' holds text, 'tall'"),
        (["explain", "m.model", "odd.csv", "--row", "2"], "'odd.csv', line 2: column 'height' holds text, 'tall'"),
        (["explain", "m.model", "good.csv", "--row", "0"], "0 is not in the range"),
        (["explain", "m.model", "good.csv", "--row", "two"], "'two' is not a valid whole number"),
        (["explain", "m.model", "good.csv", "--row", "1", "--against", "c"], "there is no class 'c'"),
        (
            ["fit", "good.csv", "--save", "./good.csv"],
            "'good.csv' is already used by this command and would be overwritten",
        ),
        (["predict", "m.model", "good.csv", "--out", "good.csv"], "'good.csv' is already used by this command"),
        (["predict", "m.model", "good.csv", "--out", "m.model"], "'m.model' is already used by this command"),
        (["explian"], "No such command 'explian'"),
    ],
)
def test_every_mistake_is_one_sentence_and_status_2(place, args, words):
    fitted()
    nb.save(nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.eye(3), [0, 1, 0]), "stats")
    (place / "empty.csv").write_text("")
    (place / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    (place / "narrow.csv").write_text("flag,colour,rooms\nyes,red,1\n")
    (place / "odd.csv").write_text("flag,colour,height,rooms\nyes,red,tall,1\nyes,red,1.5,1\n")
    pd.read_csv("good.csv").astype({"height": str}).to_parquet("texts.parquet")
    files = sorted(path.name for path in place.iterdir())
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert sorted(path.name for path in place.iterdir()) == files  # nothing half-written


EARLY = {
    "fit no.csv": "there is no file 'no.csv'",
    "fit good.csv --target lable": "'good.csv' has no column 'lable'; did you mean 'label'?",
    "fit good.csv --save no/m": "'no/m' cannot be written: there is no folder",
    "fit good.csv --sep ab": "sep, decimal and thousands must be",
    "fit good.csv --method mpa": "did you mean 'map'?",
    "fit good.csv --smoothing 0": "smoothing must be a number from",
    "fit good.csv --as height=nomal": "'nomal' is not a likelihood of a column: expected one of",
    "predict good.csv good.csv --out x.xls": "predictions are written to a .csv or a .parquet file, and 'x.xls'",
    "predict good.csv good.csv --class-prior ham": "--class-prior must be uniform, or such as",
    "compare good.csv --out good.csv": "out='good.csv' cannot be written (File exists)",
    "compare good.csv --out good.csv/o": "out='good.csv/o' cannot be written (Not a directory)",
    "compare good.csv --out .": "out='.' has other files than those of a study",
    "experiment iris --out .": "out='.' has other files than those of a study",
    "compare no.csv": "there is no file 'no.csv'",
    "compare good.csv --target lable": "'good.csv' has no column 'lable'; did you mean 'label'?",
    "compare good.csv --methods fit_mle,MAP": "here it is called 'MLE'",
    "compare good.csv --sizes 1": "a training size of 1 is too small",
    "predict no.model no.csv": "'no.model' cannot be read: No such file",
    "predict good.csv good.csv --out no/x.csv": "'no/x.csv' cannot be written: there is no folder",
    "experiment iris no.csv:label": "there is no file 'no.csv'",
    "experiment good.csv:lable": "'good.csv' has no column 'lable'; did you mean 'label'?",
    "experiment good.csv iris good.csv:flag": "'good.csv' and 'good.csv:flag' would both be set 'good'",
    "experiment good.csv --groups god=flag": "there is no set 'god'; did you mean 'good'?",
    "experiment good.csv --groups good=flg": "'good.csv' has no column 'flg'; did you mean 'flag'?",
    "experiment iris --methods ,": "no method is given: name some of MLE, MAP",
    "experiment iris --methods MPA": "there is no method 'MPA'",
    "experiment iris --metrics acuracy": "did you mean 'accuracy'?",
    "experiment iris --reference MPA": "the reference 'MPA' is none of the methods MLE, MAP",
    "experiment iris --sizes 1": "a training size of 1 is too small",
    "experiment iris --model no.py": "there is no model file 'no.py'",
    "experiment iris --decimal .. ": "sep, decimal and thousands must be",
}


@pytest.mark.usefixtures("place")
def test_a_wrong_name_is_refused_before_jax_and_pandas_are_loaded():
    program = f"""
import sys
from bayesnb.studies.cli import main
for args in {[*EARLY]}:
    try: main(args.split())
    except SystemExit as stop: print(stop.code, {{'jax', 'pandas', 'numpyro', 'pyarrow'}} & {{*sys.modules}})
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["2 set()"] * len(EARLY)
    for line, words in zip(found.stderr.splitlines(), EARLY.values(), strict=True):
        assert words in line


@pytest.mark.usefixtures("place")
def test_models_load_nothing_heavy_that_they_do_not_use():
    commands = {
        "fit good.csv --save=m": ["sklearn", "scipy.stats"],
        "predict m good.csv": ["sklearn", "scipy.stats", "scipy.optimize"],
        "explain m good.csv --row=1": ["sklearn.metrics", "sklearn.preprocessing"],
    }
    for command, heavy in commands.items():
        program = (
            "import sys\nfrom contextlib import suppress\nfrom bayesnb.studies.cli import main\n"
            f"with suppress(SystemExit): main({command.split()})\n"
            f"print({{*{heavy}}} & {{*sys.modules}})"
        )
        found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert found.stdout.endswith("\nset()\n")


def test_without_a_name_the_model_has_that_of_the_data(place):
    (place / "more.rows.csv").write_text(GOOD)
    for data, name in (("good.csv", "good.bnb"), ("more.rows.csv", "more.bnb"), ("iris", "iris.bnb")):
        result = run("fit", data, "--method", "posterior")
        assert result.exit_code == 0, result.output
        assert result.output.endswith(f"saved as {name}\n")
        assert nb.load(name).classes_.size


CELL = st.one_of(
    st.sampled_from(["", "NA", "0", "1", "2.5", "red", "1e999", "x,y", '"', "é", "1_0"]), st.text(max_size=4)
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=0, max_size=12))
def test_any_file_gives_a_model_or_a_sentence(place, rows):
    labelled = ["a,b,label", *(",".join([*row[:2], "uv"[i % 2]]) for i, row in enumerate(rows))]
    (place / "any.csv").write_text("\n".join(labelled), encoding="utf-8", newline="")
    result = run("fit", "any.csv", "--save", "any.model")
    if result.exit_code == 0:
        result = run("predict", "any.model", "any.csv")
        assert result.exit_code == 0, result.output
        assert_allclose(predictions(result.stdout)[2].sum(axis=1), 1.0, rtol=1e-6)
    else:
        assert result.exit_code == 2, (result.output, result.exception)
        assert len(result.stderr.strip().splitlines()) == 1
