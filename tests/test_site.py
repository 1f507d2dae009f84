"""The site: names, tutorials, links and messages of its pages, and of the README."""

import ast
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.compute.arrays._extras import MissingExtra, needed_by
from tests import cases
from tests.conftest import DOCS, EXAMPLES
from tests.names import exported, public_names

PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not path.relative_to(DOCS).parts[0].startswith(("_", "jup"))]
DIRECTIVE = re.compile(
    r"^ *\.\. (?:auto(?:function|class|exception)|py:data):: +bayesnb\.(?!\w+\.\w+\.)([\w.]+)$", re.M
)


def documented(pages: list[str]) -> Counter[str]:
    """How often each name has a place of its own."""
    return Counter(name for text in pages for name in DIRECTIVE.findall(text))


def texts() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in PAGES]


def test_every_public_name_is_on_exactly_one_page():
    found = documented(texts())
    assert {name for name in public_names() if found[name] == 0} == set()
    assert {name: count for name, count in found.items() if count > 1} == {}
    assert {*found} <= public_names()


def test_the_index_of_the_api_has_every_public_name():
    index = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    assert {name for name in public_names() if not re.search(rf"\b{re.escape(name)}$|`{name}`", index, re.M)} == set()


def test_the_mathematics_of_every_model_is_on_one_page():
    """Theory pages show the docstrings of ``models/`` part by part, and nothing that is in them stands there again."""
    pages = [path.read_text(encoding="utf-8") for path in (DOCS / "theory").glob("*.md")]
    directive = re.compile(r"^```\{model\} (\w+)\n(?::part: (.+)\n)?```$", re.M)
    shown = Counter(found for page in pages for found in directive.findall(page))
    texts = {
        path.stem: ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        for path in (DOCS.parent / "models").glob("*.py")
    }
    parts = [(name, part) for name, text in texts.items() for part in ["", *re.findall(r"^(.+)\n-{3,}$", text, re.M)]]
    assert shown == Counter(parts)
    assert len(parts) > 50
    formulas = {"".join(found.split()) for text in texts.values() for found in re.findall(r"\$\$.+?\$\$", text, re.S)}
    assert [formula for formula in formulas for page in pages if formula in "".join(page.split())] == []


def test_a_name_without_a_page_and_a_name_on_two_are_found():
    page = ".. autofunction:: bayesnb.fit_map\n.. autoclass:: bayesnb.plots.forest\n"
    assert documented([page, page]) == Counter({"fit_map": 2, "plots.forest": 2})
    assert documented([page])["fit_mle"] == 0


TUTORIALS = [path for path in sorted(EXAMPLES.glob("*.py")) if path.read_text().startswith("# %% [markdown]")]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_in_whole_cells(path):
    """Text stands in cells of text, and no code does; each cell of code can be compiled by itself."""
    _, *parts = re.split(r"^# %%(.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    assert {*parts[::2]} >= {" [markdown]", ""}
    for heading, source in zip(parts[::2], parts[1::2], strict=True):
        statements = ast.parse(source).body
        if heading == " [markdown]":
            assert all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in statements)
            assert source.strip().startswith(("# ", '"""'))
        else:
            assert statements


def test_the_tutorials_that_are_listed_exist():
    listed = re.findall(r"<_tutorials/(\w+)>", (DOCS / "tutorials.md").read_text(encoding="utf-8"))
    assert {*listed} <= {path.stem for path in TUTORIALS}
    assert len(listed) == len({*listed}) >= 11


RUN = [*sorted((DOCS / "how_to").glob("*.md")), DOCS / "index.md", DOCS / "design.md", DOCS / "theory" / "default.md"]
QUICK = ("clusters", "design", "from_r", "index")


@pytest.mark.filterwarnings("ignore:column 'blood' holds no value")
@pytest.mark.parametrize(
    "path", cases.by_default(RUN, *(path for path in RUN if path.stem in QUICK)), ids=lambda path: path.stem
)
def test_the_lines_of_a_page_run(path, tmp_path, monkeypatch, capsys):
    """They print what the block of text below them says, and those without such a block print nothing."""
    monkeypatch.chdir(tmp_path)  # one writes a file
    scope: dict = {}
    page = path.read_text(encoding="utf-8")
    for program, printed in re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page, re.M | re.S):
        exec(program, scope)
        assert capsys.readouterr().out == printed


@pytest.mark.slow
def test_the_method_in_pytorch_is_compared():
    pytest.importorskip("torch", reason="torch is not installed: the page says how to compare a method in PyTorch")
    scope: dict = {}
    (program,) = re.findall(
        r"^```py\n(.*?)^```\n", (DOCS / "how_to" / "compare_for_a_paper.md").read_text(), re.M | re.S
    )
    exec(program, scope)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)) + 2.0 * y[:, None]
    study = nb.experiment({"two": (X, y)}, ["full Bayes", ("network", scope["network"])], sizes=[40], splits=2)
    assert study.failures().empty
    assert (study.scores() < 0.5).all(axis=None)


@pytest.mark.slow
def test_a_process_without_us_runs_what_a_page_exports(tmp_path, monkeypatch, capsys):
    """The second program of the page, in a process that cannot import bayesnb or NumPyro."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how_to" / "serve_with_jax_alone.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", page, re.M | re.S)
    (writes, _), (reads, printed) = blocks
    exec(writes, {})
    capsys.readouterr()
    alone = "import sys\nsys.modules['bayesnb'] = sys.modules['numpyro'] = None\n"
    found = subprocess.run([sys.executable, "-c", alone + reads], capture_output=True, text=True, check=True)
    assert found.stdout == printed


def test_every_picture_is_in_the_gallery():
    drawn = {*re.findall(r"nb\.plots\.(\w+)\(", (DOCS / "gallery.md").read_text(encoding="utf-8"))}
    assert drawn == {name for name in exported() if callable(getattr(nb.plots, name))}


# each message on the page of troubleshooting is raised here, and each that is raised here stands on the page


PAGE = (Path(__file__).parents[1] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SENTENCES = re.findall(r"^`(.+)`$", PAGE, re.M)

NORMAL, N = nb.NaiveBayes(nb.Normal()), 20
X = np.random.default_rng(0).normal(size=(N, 2))
Y = np.arange(N) % 2
FRAME, LABELS = pd.DataFrame({"a": ["u", "v"] * 10, "b": X[:, 0]}), np.array(["no", "yes"])[Y]


def mle(family, x=X, y=Y, **options):
    return nb.fit_mle(nb.NaiveBayes(family), x, y, **options)


def fitted():
    return nb.NaiveBayesClassifier().fit(FRAME, LABELS)


def counted(x, y):
    return nb.sufficient_statistics(NORMAL, x, y)


def file(name, text):
    Path(name).write_text(text)
    return name


def alone():
    """The sentence of a core without extras."""
    try:
        with needed_by("NaiveBayesClassifier", "tables"):
            raise ModuleNotFoundError(name="pandas")
    except MissingExtra as error:
        raise ValueError(str(error)) from error


CASES = {
    "needs pandas": alone,
    "a Bernoulli cell": lambda: mle(nb.Bernoulli()),
    "a Categorical cell": lambda: mle(nb.Categorical(3)),
    "a Multinomial cell": lambda: mle(nb.Multinomial()),
    "a Poisson cell": lambda: mle(nb.Poisson()),
    "columns, the model has": lambda: mle(nb.Normal()).predict(X[:, :1]),
    "is singular": lambda: mle(nb.MultivariateNormal(), X[:3], Y[:3]),
    "a covariance has no": lambda: mle(nb.MultivariateNormal(), np.where(X > 1, np.nan, X)),
    "y must be integers 0..K-1": lambda: mle(nb.Normal(), X, Y + 0.5),
    "y holds strings": lambda: mle(nb.Normal(), X, LABELS),
    "y must be integers […]": lambda: mle(nb.Normal(), X, Y[:-1]),
    "y holds a missing": lambda: nb.NaiveBayesClassifier().fit(FRAME, [None, *LABELS[1:]]),
    "y is a masked": lambda: mle(nb.Normal(), X, np.ma.masked_equal(Y, 1)),
    "sample_weight": lambda: mle(nb.Normal(), sample_weight=-np.ones(N)),
    "the rows have columns": lambda: fitted().predict(FRAME.assign(c=1)),
    "The feature names": lambda: fitted().predict(FRAME[["a"]]),
    "holds no value": lambda: fitted().predict(FRAME.assign(a="w")),
    "holds text": lambda: fitted().predict(FRAME.assign(b="x")),
    "has dates": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(d=pd.date_range("2020", periods=N)), LABELS),
    "has cells of": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(lists=[[1]] * N), LABELS),
    "has whole numbers": lambda: nb.NaiveBayesClassifier().fit(
        FRAME.assign(hash=np.arange(N, dtype=np.uint64) + 2**63), LABELS
    ),
    "has a different": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(n=[f"n{i}" for i in range(N)]), LABELS),
    "has a number": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(id=range(N)), LABELS),
    "cannot be read": lambda: nb.load("none.safetensors"),
    "is damaged, or was not written by nb.save": lambda: nb.load(file("bad", "abc")),
    "cells where": lambda: nb.fit_file(file("x.csv", "a,b,t\n1,2,u\n1,2\n"), target="t"),
    "is not CSV": lambda: nb.fit_file(file("x.csv", 'a,b,t\n1,2,u\n1,"2,v\n'), target="t"),
    "has no column": lambda: nb.fit_file(file("x.csv", "a,b,t\n1,2,u\n1,2,v\n"), target="q"),
    "blocks cannot": lambda: nb.stream(NORMAL, iter([(X, Y)])),
    "statistics can": lambda: nb.merge(counted(X, Y), counted(X[:, :1], Y)),
    "class_counts": lambda: nb.merge(jax.tree.map(lambda a: np.stack([a, a]), counted(X, Y))),
    "axis_name": lambda: nb.sufficient_statistics(NORMAL, X, Y, axis_name="rows"),
    "X, y and": lambda: nb.temper(nb.fit_posterior(NORMAL, X, Y), X[:10], Y[:10]),
    "partial_fit after fit drops the learned dependence between columns": lambda: fitted().partial_fit(FRAME, LABELS),
    "an average of several": lambda: fitted().fit_.predict_interval(fitted().encoded(FRAME), key=jax.random.key(0)),
    "so these rows": lambda: nb.subtract(counted(X[:5], Y[:5]), counted(X, Y)),
    "do not trust": lambda: nb.fit_nuts(
        NORMAL, X, Y, key=jax.random.key(0), num_samples=50, num_warmup=50, progress_bar=False
    ),
}


def told(call) -> str:
    """The error of a call, or its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            call()
        except ValueError as error:
            return str(error)
    return "\n".join(str(one.message) for one in seen)


def sentence_of(start: str) -> str:
    """The sentence of the page that begins so."""
    found = [sentence for sentence in SENTENCES if sentence.startswith(start)]
    assert len(found) == 1, (start, found)
    return found[0]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "start", [pytest.param(s, marks=pytest.mark.slow if s == "do not trust" else ()) for s in CASES]
)
def test_its_words_are_on_the_page(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pattern = ".*".join(map(re.escape, sentence_of(start).split("…")))
    assert re.search(pattern, told(CASES[start])), sentence_of(start)


def test_the_page_has_no_other_sentences():
    assert {sentence_of(start) for start in CASES} == {*SENTENCES}
    assert len(SENTENCES) == len(CASES)
