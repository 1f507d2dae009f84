"""The page of a comparison: it needs nothing beside it, holds the summary's numbers, and takes names as text."""

import base64
import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from bayesnb.cli import main
from bayesnb.comparison.compare import compare
from bayesnb.comparison.experiment import Experiment
from bayesnb.comparison.first_split import Evidence, Inclusion
from bayesnb.comparison.methods import PRIOR_MEANINGS
from bayesnb.comparison.metrics import METRICS
from bayesnb.files.tables.reading import NamedFrame
from bayesnb.files.tables.table import make_table
from bayesnb.inspection.dependence import Dependence
from bayesnb.report.folder import write_files
from bayesnb.report.page import render_page
from bayesnb.report.summary import Findings, summarise
from tests.comparison.test_compare import QUICK
from tests.report.test_report import CHECK

SCRIPT = "<script>ran = true</script>"
NAMES = [SCRIPT, '"><img src=x onerror="ran=true">', "größe_年齢", "x" * 150]
VOID = {"meta", "img", "wbr"}
BLOCKS = {"dd", "div", "dt", "h1", "h2", "li", "p", "pre", "td", "th", "title"}


class Document(HTMLParser):
    """What the tests ask of a page: its tags, its text, and the cells of its tables."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.tables, self.open = [], [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables[attrs["id"]] = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append({"text": "", "values": []})
        if "data-value" in attrs:
            self.rows[-1][-1]["values"].append(float(attrs["data-value"]))

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in BLOCKS:
            self.words.append(" ")

    def handle_data(self, data):
        if {"style", "script"} & set(self.open):
            return
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1]["text"] += data

    def attributes(self, name):
        return [attrs[name] for _, attrs in self.tags if name in attrs]

    def column(self, table, column):
        """The texts of a column without its header."""
        return [" ".join(row[column]["text"].split()) for row in self.tables[table][1:]]

    def values(self, table):
        """The numbers of a table by the first cell of each row."""
        return {row[0]["text"]: [v for cell in row[1:] for v in cell["values"]] for row in self.tables[table][1:]}


def hostile():
    """A table whose columns, categories and classes have names that a page could mistake for its own."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    frame = pd.DataFrame({name: rng.normal(y, 1.0) for name in NAMES[1:]})
    frame[NAMES[0]] = pd.Series(np.array(["<b>no</b>", SCRIPT], dtype=object)[rng.integers(0, 2, 60)], dtype=object)
    frame["void"] = np.nan
    frame["label & <i>class</i>"] = pd.Series(np.array(["a", SCRIPT, "日本"], dtype=object)[y], dtype=object)
    return make_table(NamedFrame("<u>data</u>", frame, "label & <i>class</i>"))


def write(folder, table, repeats=2, check=CHECK):
    """Write the files of a small comparison whose evidence and pairs are made up."""
    names = [column.name for column in table.columns]
    inclusion = [Inclusion(name, 1 - i / 10, 100.25 - 40 * i) for i, name in enumerate(names)]
    score = np.arange(len(names) ** 2.0).reshape(len(names), -1)
    drawn = tuple(name.replace("年齢", "") for name in names)  # the figures' font lacks these letters
    pairs = Dependence(drawn, score / 10, score - 3) if len(names) > 1 else None
    experiment = Experiment(table, (10, 40), repeats, 1)
    evidence = Evidence(40, -1234.56, -1200.0, tuple(inclusion))
    findings = Findings(experiment, compare(experiment, methods=QUICK), evidence, pairs, check)
    write_files(folder, findings, summarise(findings, "bayesnb compare '<data>.csv'"))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder, table = tmp_path_factory.mktemp("page"), hostile()
    write(folder, table)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    document = Document((folder / "report.html").read_text(encoding="utf-8"))
    return folder, table, summary, document


def test_the_page_needs_nothing_beside_it(written):
    document = written[-1]
    assert {name for name, _ in document.tags}.isdisjoint({"link", "iframe", "object", "embed", "base", "form"})
    assert all(source.startswith("data:image/png;base64,") for source in document.attributes("src"))
    ids = document.attributes("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in document.attributes("href")} < set(ids)
    assert all(link[0] == "#" for link in document.attributes("href"))
    assert {label for value in document.attributes("aria-labelledby") for label in value.split()} <= set(ids)
    assert "default-src 'none'" in document.attributes("content")[-1]
    text = (written[0] / "report.html").read_text(encoding="utf-8")
    assert not any(word in text for word in ("@import", "http://", "https://", "url(h", "url(/"))


def test_every_figure_is_in_the_page_and_described(written):
    images = [attrs for name, attrs in written[-1].tags if name == "img"]
    assert len(images) == len(list(written[0].glob("*.png"))) == 3
    for image in images:
        assert len(image["alt"]) > 60
        assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"\x89PNG")
    assert (written[0] / "report.html").stat().st_size < 1_000_000


def test_names_and_categories_stay_text(written):
    _, table, _, document = written
    assert sum(name == "script" for name, _ in document.tags) == 1
    assert not {"u", "b"} & {name for name, _ in document.tags}
    assert not document.attributes("onerror")
    assert document.column("classes", 0) == list(table.classes)
    assert document.column("columns", 0) == [column.name for column in table.columns]
    assert document.column("columns", 2)[0] == f"<b>no</b>, {SCRIPT}"
    assert "Naive Bayes on <u>data</u>" in document.text
    assert "bayesnb compare '<data>.csv'" in document.text


def test_the_scores_are_those_of_the_summary(written):
    *_, summary, document = written
    for metric in METRICS:
        for method, values in document.values(metric).items():
            rows = [row[metric] for row in summary["table"] if row["method"] == method]
            fields = ["mean"] if method == "full Bayes" else ["mean", "minus_full_bayes"]
            assert values == [row[field] for row in rows for field in fields]
        assert list(document.values(metric)) == list(summary["priors"])
    times = [[row["fit_ms"], row["predict_ms"]] for row in summary["table"] if row["method"] == "MAP"]
    assert document.values("times")["MAP"] == [ms for pair in times for ms in pair]


def test_a_score_is_marked_where_it_differs_by_more_than_two_standard_errors(written):
    *_, summary, document = written
    shown = []
    for row in summary["table"]:
        for metric in METRICS:
            score = row[metric]
            sure = abs(score["minus_full_bayes"]) > 2 * score["minus_full_bayes_standard_error"]
            better = (score["minus_full_bayes"] > 0) == (metric == "accuracy")
            cell = document.tables[metric][1 + list(QUICK).index(row["method"])][1 + (row["size"] == 40)]["text"]
            shown.append("▲" if "▲" in cell else "▼" if "▼" in cell else "")
            assert shown[-1] == ("" if not sure else "▲" if better else "▼")
    assert set(shown) == {"", "▲", "▼"}


def test_the_evidence_and_the_pairs_are_those_of_the_summary(written):
    *_, summary, document = written
    assert document.values("inclusion") == {
        column["column"]: [column["probability"], column["log_bayes_factor"]]
        for column in summary["evidence"]["columns"]
    }
    found = list(zip(document.column("pairs", 0), document.column("pairs", 1), strict=True))
    assert found == [(pair["first"], pair["second"]) for pair in summary["strongest_pairs"]]
    assert [row[3]["values"] for row in document.tables["pairs"][1:]] == [
        [pair["log_bayes_factor"]] for pair in summary["strongest_pairs"]
    ]
    assert "is −1,234.6 under the prior of full Bayes and −1,200.0 under the learned prior (+34.6)" in document.text


def test_the_sentences_of_the_summary_are_in_the_page(written):
    _, table, summary, document = written
    sentences = [summary["data"]["parameters"], *table.warnings, *CHECK.warnings, summary["command"]]
    sentences += [summary["sentences"][name] for name in ("mean", "dependence")]
    sentences += [f"{name}: {PRIOR_MEANINGS[name]}" for name in ("Laplace 1", "Dirichlet 1", "NIG")]
    sentences += ["largest R-hat 1.002", "mean difference 0.00045", "divergences 3", "random splits 2", "seed 1"]
    for sentence in sentences:
        assert sentence in document.text
    assert document.column("left-out", 0) == ["void"]
    assert document.column("impossible", 0) == list(QUICK)
    for name, version in summary["versions"].items():
        assert f"{name} {version}" in document.text


def test_a_warning_of_the_naive_assumption_looks_like_one(written):
    summary = written[2]
    sentences = summary["sentences"] | {"overconfidence": "do not trust <b>"}
    document = Document(render_page(summary | {"sentences": sentences}, {}))
    assert document.text.count("Warning: do not trust <b>") == 2  # in short, and where the pairs are
    assert document.attributes("class").count("warning") == 2 + len(CHECK.warnings) * 2 + len(
        summary["data"]["warnings"]
    )
    assert not document.attributes("src")


def test_one_column_one_split_and_no_sampling(tmp_path):
    frame = pd.DataFrame({"flag": pd.Series(["yes", "no", "no"] * 20, dtype=object)})
    frame["label"] = pd.Series(["a", "b"] * 30, dtype=object)
    write(tmp_path, make_table(NamedFrame("one", frame, "label")), repeats=1, check=None)
    document = Document((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "There is only one column." in document.text
    assert "Skipped by --no-nuts" in document.text
    assert "MAP with Laplace 1 and full Bayes make the same predictions" in document.text
    assert "±" not in "".join(document.column("log_loss", 1))
    assert "pairs" not in document.tables


def test_the_command_line_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayesnb.comparison.methods.NAIVE_BAYES", QUICK)
    monkeypatch.setattr("bayesnb.comparison.first_split.compute_evidence", lambda *_: Evidence(20, -5.0, -4.0, ()))
    rows = "\n".join(f"{i % 3},{i * 0.37 % 3:.2f},{'ab'[i % 5 < 2]}" for i in range(40))
    (tmp_path / "good.csv").write_text(f"code,height,label\n{rows}\n")
    done = CliRunner().invoke(main, ["compare", "good.csv", "--sizes", "20", "--repeats", "2", "--no-nuts"])
    assert done.exit_code == 0, done.output
    assert "\n  report.html, results.csv" in done.stdout
    document = Document((tmp_path / "bayesnb-report" / "good" / "report.html").read_text(encoding="utf-8"))
    assert document.column("columns", 1) == ["Categorical", "Normal"]


def test_the_plate_diagram_has_a_feature_node_for_each_kind_and_cuts_long_names(written):
    summary = written[2]
    kinds = {"bernoulli": {"columns": 1}, "normal": {"columns": 2}}
    data = summary["data"] | {"target": "<t>" * 20, "rows": 1234, "kinds": kinds}
    text = render_page(summary | {"data": data}, {})
    document = Document(text[text.index("<svg") : text.index("</svg>") + len("</svg>")])
    assert sum(name == "circle" for name, _ in document.tags) == 2 + 2 * 2
    assert sum(name == "line" for name, _ in document.tags) == 1 + 2 * 2
    for words in ("1,234 rows", "3 classes", "Bernoulli", "2 columns", "<t><t><t><t><t><…"):
        assert words in document.text
    assert "t" not in {name for name, _ in document.tags}
