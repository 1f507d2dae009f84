"""Made-up comparisons, their pages, and a parser that says what is in a page."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd

from bayesnb.inspection._dependence import Dependence
from bayesnb.studies.comparison._first_split import Evidence, Inclusion
from bayesnb.studies.comparison._methods import COMPARED
from bayesnb.studies.comparison._metrics import ReliabilityBins
from bayesnb.studies.report._summary import Findings
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import of_frame
from tests.comparisons import CHECK, MadeUp, record

SCRIPT = "<script>ran = true</script>"
NAMES = [SCRIPT, '"><img src=x onerror="ran=true">', "größe_年齢", "x" * 150]
VOID = {"meta", "img", "wbr", "input"}
BLOCKS = {
    "caption",
    "dd",
    "div",
    "dt",
    "h1",
    "h2",
    "label",
    "legend",
    "li",
    "p",
    "pre",
    "span",
    "summary",
    "td",
    "th",
    "title",
}


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
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        attrs = dict(attrs)
        if tag == "summary":
            assert self.tags[-1][0] == "details", "a summary comes first in its details"
        self.tags.append((tag, attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows = self.tables[attrs["id"]] = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append({"text": "", "values": []})
        if attrs.get("data-value"):
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
    frame.loc[:4, NAMES[2]] = np.nan
    frame["void"] = np.nan
    frame["label & <i>class</i>"] = pd.Series(np.array(["a", SCRIPT, "日本"], dtype=object)[y], dtype=object)
    return make_table(of_frame("<u>data</u>", frame), "label & <i>class</i>")


def large(num_columns=300, num_classes=50):
    """A table of many columns and classes."""
    y = np.arange(2 * num_classes) % num_classes
    columns = np.random.default_rng(0).normal(size=(num_columns, len(y)))
    frame = pd.DataFrame({f"measurement number {d}": column for d, column in enumerate(columns)})
    frame["label"] = pd.Series([f"class number {k}" for k in y], dtype=object)
    return make_table(of_frame("large", frame), "label")


def random_scores(table, sizes, repeats):
    """A comparison of all methods with metrics drawn at random; the differences from full Bayes are of all kinds."""
    rng = np.random.default_rng(3)
    methods = {name: method.full_prior("numeric" in table.blocks) for name, method in COMPARED.items()}
    records, count = [], np.arange(10)
    bins = ReliabilityBins(count, count * 0.85, count * 0.6)
    for size in sizes:
        for method in methods:
            measured = rng.uniform(0.1, 0.9, 4)
            for repeat in range(repeats):
                loss, brier, accuracy, ece = measured + rng.uniform(-0.03, 0.03, 4)
                own = {"brier": brier, "accuracy": accuracy, "ece": ece, "impossible": 0.05 * (method == "MLE")}
                own |= {"fit_ms": rng.uniform(0, 2000), "predict_ms": rng.uniform(0, 9), "bins": bins}
                records.append(record(repeat, method, 20 * loss / size, size=size, **own))
    return MadeUp(methods, tuple(records)).on(table)


def made_up(table, sizes=(10, 40), repeats=3, check=CHECK):
    """Findings on a table whose metrics, evidence and pairs are made up."""
    names = [column.name for column in table.columns]
    inclusion = [Inclusion(name, 1 - i / len(names), 100.25 - 40 * i) for i, name in enumerate(names)]
    score = np.arange(len(names) ** 2.0).reshape(len(names), -1)
    drawn = tuple(name.replace("年齢", "") for name in names)  # the figures' font lacks these letters
    pairs = Dependence(drawn, score / 10, score - 3, score / 10) if len(names) > 1 else None
    evidence = Evidence(40, -1234.56, -1200.0, tuple(inclusion))
    return Findings(random_scores(table, sizes, repeats), evidence, pairs, check)
