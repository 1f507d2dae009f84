"""The page of a comparison: it needs nothing beside it, says everything once, and takes names as text."""

import base64
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from bayesnb.compute.arrays import _limits as limits
from bayesnb.inspection._dependence import Dependence
from bayesnb.studies.comparison._methods import PRIOR_MEANINGS
from bayesnb.studies.comparison._metrics import METRICS
from bayesnb.studies.report._console import print_results
from bayesnb.studies.report._glossary import anchor, read_words
from bayesnb.studies.report._page import PAGE_DPI, dependence_figure, draw_figures, png, render_page
from bayesnb.studies.report._summary import summarise
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from tests.comparisons import CHECK
from tests.studies.report.pages import SCRIPT, Document, large, made_up

LARGEST_PAGE = 1_000_000
"""Bytes of a page, with 300 columns and 50 classes too."""


@pytest.fixture(scope="module")
def page(written):
    return (written[0] / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(page):
    return Document(page)


def test_the_page_needs_nothing_beside_it(page, document):
    assert {name for name, _ in document.tags}.isdisjoint({"link", "iframe", "object", "embed", "base", "form"})
    assert all(source.startswith("data:image/png;base64,") for source in document.attributes("src"))
    assert "default-src 'none'" in document.attributes("content")[-1]
    assert not any(word in page for word in ("@import", "http://", "https://", "url(h", "url(/"))


def test_every_link_leads_to_a_word_in_the_page(document):
    targets = [href.removeprefix("#") for href in document.attributes("href")]
    words = {anchor(word) for word in read_words()}
    assert words <= {*document.attributes("id")}
    assert {"word-interval", "word-crossed", "word-clearly", "word-ece", "word-split"} - {*targets} == {"word-crossed"}
    assert {*targets} <= words  # its splits are drawn anew, so that no interval is crossed
    assert "word-corrected-resampled-t" in targets
    assert all(text in document.text for text in read_words().values())


def test_a_switch_without_a_script_shows_differences_from_full_bayes_or_from_the_best(written, document):
    """Both are in the page; the styles hide one, by the switch's state."""
    *_, summary = written
    last = [row for row in summary["table"] if row["size"] == 40]
    shown = document.values("best")
    for row in last:
        loss = row["log_loss"]
        assert shown[row["method"]][1:3] == [loss["minus_full_bayes"], loss["minus_best"]]
    header = [cell["text"] for cell in document.tables["best"][0]]
    assert header[2:4] == ["minus full Bayes", f"minus {last[0]['log_loss']['best']}"]
    radios = {attrs["id"]: "checked" in attrs for name, attrs in document.tags if name == "input"}
    assert radios == {"from-full_bayes": True, "from-best": False}


def test_the_page_is_well_formed(page, document):
    """Tags that close in order, headings without gaps, labels that exist, rows as long as their header."""
    assert page.startswith("<!DOCTYPE html>")
    names = Counter(name for name, _ in document.tags)
    assert [names[one] for one in ("html", "head", "body", "main", "h1")] == [1] * 5
    levels = [int(name[1]) for name, _ in document.tags if re.fullmatch("h[1-6]", name)]
    assert levels == [1] + [2] * (1 + names["details"])
    ids = document.attributes("id")
    assert len(ids) == len(set(ids))
    assert {label for value in document.attributes("aria-labelledby") for label in value.split()} <= set(ids)
    for rows in document.tables.values():
        assert {len(row) for row in rows} == {len(rows[0])}
    assert {attrs.get("scope") for name, attrs in document.tags if name == "th"} == {"row", "col"}


def test_the_finding_the_picture_and_a_table_come_first(written, document):
    *_, summary = written
    order = [attrs.get("id") or name for name, attrs in document.tags if name in ("h2", "figure", "table", "details")]
    assert order[:4] == ["finding", "learning_curve.png", "best", "details"]
    for part in summary["sentences"]["finding"]:
        assert f"{part['claim']} {part['scores']}" in document.text
    assert order[4:6] == ["h2", "details"]  # the warnings about the data are folded
    losses = [values[0] for values in document.values("best").values()]
    assert losses == sorted(row["log_loss"]["mean"] for row in summary["table"] if row["size"] == 40)


def test_every_figure_is_in_the_page_and_described(written, document):
    images = [attrs for name, attrs in document.tags if name == "img"]
    assert len(images) == len(list(written[0].glob("*.png"))) == 4
    for image in images:
        assert len(image["alt"]) > 60
        assert base64.b64decode(image["src"].partition(",")[2]).startswith(b"\x89PNG")


def test_names_and_categories_stay_text(written, document):
    _, table, _ = written
    assert sum(name == "script" for name, _ in document.tags) == 1
    assert not {"u", "b"} & {name for name, _ in document.tags}
    assert not document.attributes("onerror")
    assert document.column("classes", 0) == list(table.classes)
    assert document.column("columns", 0) == [column.name for column in table.columns]
    assert document.column("columns", 2)[0] == f"<b>no</b>, {SCRIPT}"
    assert "Naive Bayes on <u>data</u>" in document.text
    assert "bayesnb compare '<data>.csv'" in document.text


def test_every_score_is_that_of_the_summary(written, document):
    *_, summary = written
    for metric in METRICS:
        values = document.values(metric)
        assert list(values) == list(summary["priors"])
        for method, shown in values.items():
            assert shown == [row[metric]["mean"] for row in summary["table"] if row["method"] == method]


def seen(page, name):
    """The page as the switch shows it, without the differences from the other reference."""
    other = {"full_bayes": "best", "best": "full_bayes"}[name]
    return Document(re.sub(rf'<span class="difference from-{other} [^<]*</span>', "", page))


def test_numbers_read_as_on_the_console(written, page):
    """The metrics, the times, and the evidence of columns, character by character."""
    *_, summary = written
    document = seen(page, "full_bayes")
    console = Console(width=300, record=True, file=SimpleNamespace(write=lambda _: None, flush=lambda: None))
    print_results(console, summary)
    lines = console.export_text().splitlines()
    times, evidence = (next(i for i, line in enumerate(lines) if line.startswith(t)) for t in ("Milli", "Does a col"))
    for place, method in enumerate(summary["priors"]):
        own = [line for line in lines if line.startswith(f"{method} ")]
        rows = [numbers for line in own if (numbers := re.findall(r"[-+.\d]\S* ±\S+", line))]
        assert len(rows) == (2 if method == "full Bayes" else 4)  # metrics, and differences of the others
        for column, metric in enumerate(METRICS):
            cells = document.tables[metric][1 + place][1:]
            for cell, metrics, differences in zip(cells, rows[:2], rows[2:] or [[""] * 4] * 2, strict=True):
                mean, *difference = re.split("better |worse ", cell["text"])
                assert mean == metrics[column]
                assert difference in ([], [differences[column]])
        printed = next(line for line in lines[times:] if line.startswith(method)).split()[-4:]
        assert printed == [cell["text"] for cell in document.tables["times"][1 + place][1:]]
    shown = [[cell["text"] for cell in row[-2:]] for row in document.tables["columns"][1:]]
    assert shown == [line.split()[-2:] for line in lines[evidence + 3 : evidence + 3 + len(shown)]]
    assert "is -1,234.6 under the prior of full Bayes and -1,200.0 under the learned prior (+34.6)" in document.text


@pytest.mark.parametrize("name", ["full_bayes", "best"])
def test_a_difference_stands_where_its_interval_is_without_0(written, page, name):
    *_, summary = written
    document, shown = seen(page, name), Counter()
    for row in summary["table"]:
        for metric in METRICS:
            score = row[metric]
            sure = abs(score[f"minus_{name}"]) > score[f"minus_{name}_half_interval"]
            better = (score[f"minus_{name}"] > 0) == (metric == "accuracy")
            place = 1 + list(summary["priors"]).index(row["method"])
            text = document.tables[metric][place][1 + (row["size"] == 40)]["text"]
            found = [word for word in ("better", "worse") if word in text]
            assert found == ([] if not sure else ["better"] if better else ["worse"])
            shown.update(found or [""])
    assert shown["better"] == 0 if name == "best" else shown["better"] > 3
    assert min(shown[word] for word in ("", "worse")) > 3


def test_the_evidence_and_the_pairs_are_those_of_the_summary(written, document):
    *_, summary = written
    assert {name: values[-2:] for name, values in document.values("columns").items()} == {
        column["column"]: [column["probability"], column["log_bayes_factor"]]
        for column in summary["evidence"]["columns"]
    }
    found = list(zip(document.column("pairs", 0), document.column("pairs", 1), strict=True))
    assert found == [(pair["first"], pair["second"]) for pair in summary["strongest_pairs"]]
    assert [row[3]["values"] for row in document.tables["pairs"][1:]] == [
        [pair["log_bayes_factor"]] for pair in summary["strongest_pairs"]
    ]


def test_what_the_summary_says_is_said_once(written, document):
    _, table, summary = written
    once = [summary["data"]["parameters"], *table.warnings, *CHECK.warnings, summary["command"]]
    once += [text for text in summary["sentences"].values() if isinstance(text, str)]
    once += [f"{name}: {PRIOR_MEANINGS[name]}" for name in ("Laplace 1", "Dirichlet 1", "NIG")]
    once += ["in 3 random splits", "The seed is 1", "Columns left out: void (", "of test rows whose true class got"]
    once += [f"{name} {version}" for name, version in summary["versions"].items()]
    assert len(summary["sentences"]["overconfidence"]) > 100
    assert {sentence: document.text.count(sentence) for sentence in once} == dict.fromkeys(once, 1)
    assert document.text.count("Warning:") == document.attributes("class").count("warning") == 2 + len(CHECK.warnings)


def test_the_same_warning_twice_stands_once(written):
    *_, summary = written
    data = summary["data"] | {"warnings": ["<b> is odd", *CHECK.warnings]}
    document = Document(render_page(summary | {"data": data}, {}))
    assert document.text.count("Warning: <b> is odd") == 1
    assert document.attributes("class").count("warning") == 2 + len(CHECK.warnings)
    assert not document.attributes("src")


@pytest.mark.parametrize(
    ("columns", "said"), [(2, "1 of 2 columns probably depends on"), (4, "2 of 4 columns probably depend on")]
)
def test_the_number_of_columns_that_depend_agrees_with_its_verb(columns, said):
    document = Document(render_page(summarise(made_up(large(columns, 2)), ""), {}))
    assert said in document.text


def test_one_column_one_split_and_no_sampling():
    frame = pd.DataFrame({"flag": pd.Series(["yes", "no", "no"] * 20, dtype=object)})
    frame["label"] = pd.Series(["a", "b"] * 30, dtype=object)
    findings = made_up(make_table(of_frame("one", frame), "label"), repeats=1, check=None)
    document = Document(render_page(summarise(findings, ""), {}))
    assert "There is only one column." in document.text
    assert "NUTS check" not in document.text
    assert "MAP with Laplace 1 and full Bayes make the same predictions" in document.text
    assert "±" not in "".join(document.column("log_loss", 1) + document.column("best", 2))
    assert [cell["text"] for cell in document.tables["columns"][0]][-2:] == ["probability", "log Bayes factor"]
    assert not {"missing"} & {cell["text"] for cell in document.tables["columns"][0]}  # a column of noughts
    assert "pairs" not in document.tables


def test_columns_that_are_independent_have_no_table_and_no_picture_and_those_nearly_unique_are_named():
    findings = made_up(large(3, 2))
    nothing = np.zeros((3, 3))
    pairs = Dependence(("a", "b_c", "d"), nothing, nothing - 1.0, nothing, (1,))
    document = Document(render_page(summarise(findings._replace(pairs=pairs), ""), {"dependence.png": bytes(24)}))
    assert "No two columns surely depend on each other within the classes. Nearly every row has" in document.text
    assert "value of its own in b_c." in document.text
    assert "pairs" not in document.tables
    assert "dependence.png" not in document.attributes("id")


def test_long_names_that_differ_at_their_ends_differ_in_the_picture():
    names = [f"mean temperature of the sensor number {d}" for d in range(5)]
    pairs = Dependence(tuple(names), np.eye(5), np.eye(5), np.eye(5))
    figure = dependence_figure(summarise(made_up(large(2, 2)), ""), pairs)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len({*labels}) == 4
    assert max(map(len, labels)) == limits.COLUMN_LENGTH


@pytest.mark.slow
def test_many_columns_and_classes_keep_the_page_small():
    findings = made_up(large(), sizes=(100, 1000, 10_000), repeats=2)
    summary = summarise(findings, "")
    figures = draw_figures(findings, summary)
    text = render_page(summary, {name: png(figure, PAGE_DPI) for name, figure in figures.items()})
    assert len(text.encode()) < LARGEST_PAGE
    document = Document(text)
    assert len(document.tables["columns"]) == 1 + 300
    assert len(document.tables["classes"]) == 1 + 50
    assert len(document.tables["pairs"]) == 1 + 10


def luminance(colour):
    """Relative luminance of #rgb or #rrggbb, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    part = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_text_stands_out_in_light_in_dark_and_on_paper(page):
    """A contrast of at least 4.5, which WCAG 2 asks of text."""
    schemes = [dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in re.findall(r":root {([^}]+)}", page)]
    assert len(schemes) == 3
    for scheme in schemes:
        colours = schemes[0] | scheme
        for ink, papers in {
            "ink": ("paper", "wash", "tint", "warn"), "soft": ("paper", "wash"),
            "better": ("paper", "wash"), "worse": ("paper", "wash"), "accent": ("paper",),
        }.items():  # fmt: skip
            for paper in papers:
                low, high = sorted(float(luminance(colours[name])) for name in (ink, paper))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper)


def test_the_plate_diagram_has_a_feature_node_for_each_kind_and_cuts_long_names(written):
    *_, summary = written
    kinds = {"bernoulli": {"columns": 1}, "normal": {"columns": 2}}
    data = summary["data"] | {"target": "<t>" * 20, "rows": 1234, "kinds": kinds}
    text = render_page(summary | {"data": data}, {})
    document = Document(text[text.index("<svg") : text.index("</svg>") + len("</svg>")])
    assert sum(name == "circle" for name, _ in document.tags) == 2 + 2 * 2
    assert sum(name == "line" for name, _ in document.tags) == 1 + 2 * 2
    for words in ("1,234 rows", "3 classes", "Bernoulli", "2 columns", "<t><t><t><t><t><…"):
        assert words in document.text
    assert "t" not in {name for name, _ in document.tags}
