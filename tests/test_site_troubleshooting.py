"""Each message on the page of troubleshooting is raised here, and each that is raised here stands on the page."""

import re
import warnings
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import bayesnb as nb

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


CASES = {
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
    "has a different": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(n=[f"n{i}" for i in range(N)]), LABELS),
    "has a number": lambda: nb.NaiveBayesClassifier().fit(FRAME.assign(id=range(N)), LABELS),
    "cannot be read": lambda: nb.load("none.safetensors"),
    "is damaged, or was not written by nb.save": lambda: nb.load(file("bad", "abc")),
    "is damaged, or was not written by nb.export": lambda: nb.load_exported(file("bad", "abc")),
    "cells where": lambda: nb.fit_file(file("x.csv", "a,b,t\n1,2,u\n1,2\n"), target="t"),
    "is not CSV": lambda: nb.fit_file(file("x.csv", 'a,b,t\n1,2,u\n1,"2,v\n'), target="t"),
    "has no column": lambda: nb.fit_file(file("x.csv", "a,b,t\n1,2,u\n1,2,v\n"), target="q"),
    "blocks cannot": lambda: nb.stream(NORMAL, iter([(X, Y)])),
    "statistics can": lambda: nb.merge(counted(X, Y), counted(X[:, :1], Y)),
    "class_counts": lambda: nb.merge(jax.tree.map(lambda a: np.stack([a, a]), counted(X, Y))),
    "axis_name": lambda: nb.sufficient_statistics(NORMAL, X, Y, axis_name="rows"),
    "X, y and": lambda: nb.temper(nb.fit_posterior(NORMAL, X, Y), X[:10], Y[:10]),
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
