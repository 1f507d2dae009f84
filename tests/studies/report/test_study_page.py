"""The files of a study, and its page: the headline, words that agree with numbers, and numbers that the CSV has."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.report._study_page import write_study
from tests.chromium import CHROMIUM, DRIVER, beyond_window, open_browser, show, violations
from tests.studies.report.pages import SCRIPT, Document

LARGEST = {"a & b": 32, "c": 16}
WORDS = {"worse", "better", "equal", "not settled", "reference", "no value"}


def broken(model, X, y):
    if len(y) == 32:
        raise ValueError("<no> answer")
    return nb.fit_map(model, X, y)


def rows(shift, seed):
    y = np.arange(90) % 2
    return np.random.default_rng(seed).normal(y[:, None] * shift, 1.0, (90, 2)), y


@pytest.fixture(scope="module")
def study():
    methods = ["MLE", (SCRIPT, broken), "MAP", "full Bayes"]
    one = nb.experiment({"a & b": rows(1.0, 0)}, methods, sizes=[16, 32], splits=6)
    return nb.merge_experiments(one, nb.experiment({"c": rows(0.5, 1)}, methods, sizes=[16], splits=6))


@pytest.fixture(scope="module")
def written(study, tmp_path_factory):
    """A folder with the files of a study whose sets have several largest sizes."""
    folder = tmp_path_factory.mktemp("study")
    names = write_study(study, folder, "MAP", 0.05)
    assert sorted(names) == sorted(path.name for path in folder.iterdir())
    return folder, Document((folder / "report.html").read_text()), pd.read_csv(folder / "scores.csv")


def of(scores, data_set, method, metric="log_loss", size=None):
    """The row of the CSV that the page shows."""
    size = LARGEST.get(data_set, 0) if size is None else size
    where = {"data_set": data_set, "method": method, "metric": metric, "size": size}
    (row,) = (row for row in scores.to_dict("records") if all(row[key] == value for key, value in where.items()))
    return row


def test_every_link_leads_to_a_word_in_the_page(written):
    targets = {href.removeprefix("#") for href in written[1].attributes("href")}
    assert {"word-interval", "word-crossed", "word-bayesian-signed-rank"} <= targets <= {*written[1].attributes("id")}


def test_the_page_says_first_which_method_is_best_where_and_whether_that_is_settled(written):
    _, page, scores = written
    part = scores[(scores["metric"] == "log_loss") & (scores["best"] == 1)]
    claim = re.search(r"With the most training rows of each set, (.*?)\.", page.text)[1]
    for name, size in LARGEST.items():
        (first,) = part[(part["data_set"] == name) & (part["size"] == size)]["method"]
        assert f"'{first}'" in claim
    assert "settled" in claim
    assert page.text.index(claim) < page.text.index("Learning curves")


@pytest.mark.parametrize("metric", ["log_loss", "accuracy", "brier"])
def test_cells_are_a_mean_and_its_error_the_best_in_bold_and_a_word(written, metric):
    _, page, scores = written
    table = page.tables["scores" if metric == "log_loss" else metric]
    methods = [cell["text"].strip() for cell in table[0][1:]]
    ranks = [of(scores, "all sets", method)["rank"] for method in methods]
    assert ranks == sorted(ranks)
    for line in table[1:3]:
        data_set = re.sub(r"n = .*", "", line[0]["text"]).strip()
        for method, cell in zip(methods, line[1:], strict=True):
            row, text = of(scores, data_set, method, metric), " ".join(cell["text"].split())
            if row["failed"]:
                assert (text, cell["values"]) == ("no value", [])
                continue
            mean, half, word = re.fullmatch(r"([\d.]+) ±([\d.]+)(\D+)", text).groups()
            assert_allclose([float(mean), float(half)], [row["mean"], row["half_interval"]], atol=6e-3)
            assert cell["values"] == [pytest.approx(row["mean"], rel=1e-12)]
            assert word.strip() == row["than_reference"]
            p = {"worse": row["p_worse"], "equal": row["p_equal"], "better": row["p_better"]}
            if method == "MAP":
                assert word.strip() == "reference"
            else:
                assert word.strip() == next((name for name in p if p[name] > 0.95), "not settled")


def test_the_best_of_each_set_is_bold(written):
    folder, _, scores = written
    text = (folder / "report.html").read_text()
    table = text[text.index('<table id="scores">') : text.index("</table>")]
    bold = [float(mean) for mean in re.findall(r'class="best">([\d.]+)<', table)]
    of_loss = scores[scores["metric"] == "log_loss"].groupby(["data_set", "size"])["mean"].min()
    best = [of_loss[place] for place in LARGEST.items()]
    assert_allclose(bold, best, atol=6e-4)


def test_every_number_of_the_page_is_in_the_csv(written):
    _, page, scores = written
    known = scores.select_dtypes("number").to_numpy().ravel()
    known = np.sort(known[np.isfinite(known)])
    tables = {
        name: [v for line in table for cell in line for v in cell["values"]] for name, table in page.tables.items()
    }
    shown = np.concatenate([values for name, values in tables.items() if name != "failures"])
    assert len(shown) > 60
    near = known[np.clip(np.searchsorted(known, shown), 1, len(known) - 1)]
    below = known[np.clip(np.searchsorted(known, shown), 1, len(known) - 1) - 1]
    assert_allclose(np.where(abs(near - shown) < abs(below - shown), near, below), shown, rtol=1e-12)
    assert {*scores["than_reference"].dropna()} <= WORDS


def test_differences_ranks_failures_and_seconds_have_their_tables(written, study):
    _, page, scores = written
    differences = page.tables["differences"][1:]
    assert (
        len(differences) == 3 * 3 - 2
    )  # methods but the reference, on two sets and over both; one is on one set alone
    word = {(line[0]["text"], line[1]["text"]): line[-1]["text"] for line in differences}
    assert word["c", "full Bayes"] == of(scores, "c", "full Bayes")["than_reference"]
    by_method = page.values("methods")
    assert by_method[SCRIPT][3] == 6 == study.failures().query("metric == 'log_loss'")["split"].size
    assert by_method["MLE"][-1] == pytest.approx(of(scores, "all sets", "MLE")["seconds"])
    failures = page.tables["failures"][1:]
    assert [cell["text"].strip() for cell in failures[0]] == ["a & b", SCRIPT, "32", "6", "ValueError: <no> answer"]
    assert sum(tag == "script" for tag, _ in page.tags) == 1


def test_the_page_has_a_picture_of_each_set_and_of_each_method(written):
    _, page, _ = written
    alts = [attrs["alt"] for tag, attrs in page.tags if tag == "img"]
    assert sum(alt.startswith("Learning curves on") for alt in alts) == 2
    assert sum("less MAP on each set" in alt for alt in alts) == 3
    assert alts.count("") == 4  # lines of the legend, whose names stand beside them


def test_the_reference_is_by_default_the_best_and_the_page_says_that_luck_has_helped_it(study, written, tmp_path):
    write_study(study, tmp_path, rope=0.05)
    best = study.scores().rank(axis=1, na_option="bottom").mean().idxmin()
    assert {*pd.read_csv(tmp_path / "scores.csv")["reference"]} == {best}
    assert "luck has helped it" in (tmp_path / "report.html").read_text()
    assert "luck has helped it" not in (written[0] / "report.html").read_text()


def test_one_method_on_one_set_at_one_size_has_a_page_without_words(tmp_path):
    study = nb.experiment({"a": rows(1.0, 0)}, ["MLE"], sizes=[16], splits=2, metrics=["accuracy"])
    names = write_study(study, tmp_path)
    page = Document((tmp_path / "report.html").read_text())
    assert "forest.png" not in names
    assert "With 16 training rows, 'MLE' has the highest accuracy on a." in page.text
    assert {*page.tables} == {"scores", "methods", "seconds"}
    assert "2 splits, training sets of 16 rows." in page.text


def test_a_table_of_a_few_lines_is_whole(tmp_path):
    write_study(nb.experiment({"a": rows(1.0, 0)}, ["MLE"], sizes=[*range(16, 24)], splits=2), tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert Document(text).tables["sizes"]
    assert 'class="scroll tall"' not in text


def test_curves_of_more_than_thirty_sets_are_several_pictures(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesnb.studies.plots._studies.PANELS", 2)
    sets = {name: rows(place, place) for place, name in enumerate("abc")}
    names = write_study(nb.experiment(sets, ["MLE", "MAP"], sizes=[16], splits=2), tmp_path, "MLE", 0.01)
    assert [name for name in names if name.startswith("curves")] == ["curves.png", "curves-2.png"]
    table = pd.read_csv(tmp_path / "scores.csv").query("metric == 'log_loss' and method == 'MAP'").set_index("data_set")
    assert_allclose(table.loc["all sets", "minus_reference"], table.loc[["a", "b", "c"], "minus_reference"].mean())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not both on the machine")
    with open_browser(tmp_path_factory.mktemp("profile"), browser="ALL") as driver:
        yield driver


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_the_page_fits_a_phone_in_light_and_dark_and_nothing_goes_wrong(written, browser, width, scheme):
    window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get_log("browser")
    show(browser, (written[0] / "report.html").as_uri())
    browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert beyond_window(browser) == []
    caption = "return document.querySelector('#scores caption').getBoundingClientRect().right"
    assert browser.execute_script("return [...document.images].every(i => i.complete && i.naturalWidth > 50)")
    assert browser.execute_script(caption) <= browser.execute_script(
        "return document.querySelector('#scores').getBoundingClientRect().right"
    )
    assert browser.get_log("browser") == []
    pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    assert violations(browser) == []


@pytest.mark.slow
def test_a_header_sorts_the_sets_and_the_mean_rank_stays_below(written, browser):
    show(browser, (written[0] / "report.html").as_uri())
    last = "return [...document.querySelectorAll('#scores tr')].at(-1).cells[0].textContent"
    foot = browser.execute_script(last)
    browser.execute_script("document.querySelectorAll('#scores thead button')[1].click()")
    values = "return [...document.querySelectorAll('#scores tbody tr')].map(r => Number(r.cells[1].dataset.value))"
    assert browser.execute_script(values) == sorted(browser.execute_script(values))
    assert browser.execute_script(last) == foot
    assert "mean rank" in foot
