"""The tutorials: cells that a notebook runs one by one, and their numbers against numpy, scipy and scikit-learn."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import gammaln
from sklearn.datasets import load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from tests.conftest import EXAMPLES


def cells(name):
    """Pairs of a cell's heading and its source."""
    _, *parts = re.split(r"^# %%(.*)\n", (EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), flags=re.M)
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def notebook(monkeypatch, tmp_path):
    """Runs the cells of an example as a notebook does, with other constants, and returns what they defined."""
    monkeypatch.chdir(tmp_path)

    def call(name, picture=False, **constants):
        scope = {"__name__": "__main__"}
        for heading, source in cells(name):
            for constant, value in constants.items():
                source = re.sub(rf"^{constant} = .*", f"{constant} = {value!r}", source, flags=re.M)
            if not heading.strip():
                exec(compile(source, f"{name}.py", "exec"), scope)
        plt.close("all")
        assert not picture or (tmp_path / f"{name}.png").stat().st_size > 5000
        return scope

    return call


def test_quick_start(notebook):
    scope = notebook("quick_start")
    X, y = scope["X"], scope["y"]
    means = np.stack([X[y == k].mean(axis=0) for k in range(3)])
    variances = np.stack([X[y == k].var(axis=0) for k in range(3)])
    assert_allclose(scope["mle"].params["x_loc"], means)
    joint = np.log(np.bincount(y) / len(y)) + stats.norm.logpdf(scope["X_test"][:, None], means, variances**0.5).sum(2)
    assert_allclose(scope["mle"].log_joint(scope["X_test"]), joint, rtol=1e-9)
    losses = [log_loss(scope["y_test"], scope[fit].predict_proba(scope["X_test"])) for fit in ("post", "map_", "mle")]
    assert losses == sorted(losses)


@pytest.mark.slow
def test_mixed_frame(notebook, capsys):
    pytest.importorskip("polars")
    scope, out = notebook("mixed_frame"), capsys.readouterr().out
    assert scope["loaded"].likelihoods_ == scope["inferred"].likelihoods_ | scope["chosen"]
    assert out.count("refused: ") == 5
    # of each column alone each part of the average is the posterior of its counts, raised to its power
    title, y = np.array(scope["columns"]["title"]), scope["y"]
    died, survived = (np.sum((title == "Mrs") & (y == label)) + 1 for label in ("died", "survived"))
    missing = {name: None if name in ("sex", "embarked") else np.nan for name in scope["frame"]}
    row = scope["frame"].head(1).assign(**{**missing, "title": "Mrs"})
    n = np.array([(y == "died").sum(), (y == "survived").sum()])
    classifier, expected = scope["classifier"], 0.0
    fit, place = classifier.fit_, classifier.schema_.names_by_block["categorical"].index("title")
    for share, powers in zip(fit.shares, (fit.powers, *(own for own, _ in fit.forest_powers)), strict=True):
        joint = (n + 1) * (np.array([died, survived]) / (n + len(set(title)))) ** powers["categorical"][place]
        expected = expected + share * joint / joint.sum()
    assert_allclose(classifier.predict_proba(row)[0], expected)


@pytest.mark.slow
def test_text_pipeline_on_its_own_notes(notebook, capsys):
    scope, out = notebook("text_pipeline"), capsys.readouterr().out
    assert "48 messages: 16 garden, 16 kitchen, 16 workshop" in out
    counts, of_class = scope["counts"].toarray(), scope["y"][:, None] == np.unique(scope["y"])
    a = 1.0 + of_class.T.astype(float) @ counts
    x = counts[:, None]
    joint = gammaln(a.sum(1)) - gammaln(a.sum(1) + x.sum(2)) + (gammaln(a + x) - gammaln(a)).sum(2)
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert_allclose(scope["exact"].predict_log_proba(scope["texts"]), expected, atol=1e-9)


@pytest.mark.slow
def test_text_pipeline_on_messages_of_a_file(notebook, tmp_path, capsys):
    lines = [
        f"{kind}\t{text} {i}" for i in range(20) for kind, text in [("ham", 'lunch "at" noon'), ("spam", "win &gt;")]
    ]
    (tmp_path / "sms_spam.tsv").write_text("\n".join([*lines, *lines[:3]]), encoding="utf-8")
    scope = notebook("text_pipeline", MESSAGES=".")
    assert "40 messages: 20 ham, 20 spam" in capsys.readouterr().out
    assert scope["texts"][1] == "win > 0"


@pytest.mark.slow
def test_experiment(notebook, tmp_path, capsys):
    scope = notebook("experiment", picture=True, SETS=["wine"], SIZES=[20, 40], SPLITS=2)
    runs = pd.read_csv(tmp_path / "experiment.csv").query("metric == 'log_loss' and size == 40")
    assert len(runs) == 2 * len(scope["METHODS"])
    assert "cells=24" in capsys.readouterr().out
    X, y = load_wine(return_X_y=True)
    mle = runs[runs["method"] == "MLE"].set_index("split")["value"]
    for split, (train, test) in enumerate(scope["study"].splits("wine")):
        log_proba = GaussianNB(var_smoothing=0.0).fit(X[train[:40]], y[train[:40]]).predict_log_proba(X[test])
        assert_allclose(
            mle[split], -np.maximum(log_proba[np.arange(len(test)), y[test]], np.log(1.18e-38)).mean(), rtol=1e-4
        )
    gain = scope["differences"].query("size == 40 and method == 'MLE'")["mean"].item()
    full = runs[runs["method"] == "full Bayes"].set_index("split")["value"]
    assert_allclose(gain, (mle - full).mean(), rtol=1e-5)
    assert "booktabs" in (tmp_path / "experiment.tex").read_text(encoding="utf-8")


@pytest.mark.slow
def test_migrating(notebook, capsys):
    scope, out = notebook("migrating"), capsys.readouterr().out
    assert out.count("the same predictions, and isinstance of scikit-learn's: True") == 5
    assert out.count("predicts as NaiveBayesClassifier") == len(scope["EQUAL"]) == 5
    assert_array_equal(scope["plain"].fit_.params["class_probs"], np.bincount(scope["labels"]) / len(scope["labels"]))


def test_living_model(notebook, capsys):
    scope, out = notebook("living_model", picture=True, num_rows=900), capsys.readouterr().out
    jumps, still = scope["gains"].values()
    everything, learned, window = (log_probs.sum() for log_probs in jumps.values())
    assert learned > max(everything, window)
    everything, learned, window = (log_probs.sum() for log_probs in still.values())
    assert abs(learned - everything) < 0.001 * 900
    assert window < everything
    assert out.count("refused: ") == 1
    assert scope["error"] < 1e-9
    counts = [np.sum((scope["y"] == label) & ~scope["mine"]) for label in scope["clf"].classes_]
    assert_array_equal(scope["clf"].class_count_, counts)
    assert np.all(abs(scope["moved"].class_probs - scope["abroad"][scope["order"]]) < 0.1)
    stayed, moved = scope["accuracies"]
    assert moved > stayed


def test_taxonomy(notebook):
    scope = notebook("taxonomy", picture=True, NUM_READS=500)
    placed, spent = scope["placed"], scope["spent"]
    for confidence in (0.7, 0.9):
        right, _ = placed["learned power", confidence]
        assert right > confidence - 3 * np.sqrt(confidence * (1 - confidence) / 400)
        assert placed["plain", confidence][0] < right
    cheapest = min(spent, key=spent.get)
    assert cheapest == ("learned power", "least expected cost")


@pytest.mark.slow
def test_words_and_numbers(notebook):
    scope = notebook("words_and_numbers", picture=True)
    words, numbers, both = scope["scores"].values()
    assert both[0] > max(words[0], numbers[0])
    assert both[1] < min(words[1], numbers[1])
    # the words are scikit-learn's counts under the Dirichlet-multinomial, by hand
    counter = CountVectorizer()
    counts, y = counter.fit_transform(scope["tickets"]["message"]).toarray(), scope["desks"]
    n = np.array([(y == desk).sum() for desk in scope["DESKS"]])
    a = np.stack([1.0 + counts[y == desk].sum(axis=0) for desk in scope["DESKS"]])
    x = counter.transform(scope["new"]["message"]).toarray()[:, None]
    joint = np.log((n + 1) / (n + 1).sum()) + gammaln(a.sum(1)) - gammaln(a.sum(1) + x.sum(2))
    joint += (gammaln(a + x) - gammaln(a)).sum(2)
    assert_allclose(scope["log_odds"]["words alone"], joint - joint[:, [0]], atol=1e-8)
    row, explanation = scope["row"], scope["explanation"]
    log_proba = scope["clf"].predict_log_proba(scope["new"][row : row + 1])
    rival = list(scope["clf"].classes_).index(scope["rival"])
    assert_allclose(explanation.log_odds, log_proba - log_proba[:, [rival]], atol=1e-9)
    for desk, found in scope["strongest"].items():
        assert {part.name for part in found} <= set(scope["WORDS"][desk].split())


@pytest.mark.slow
def test_waiting_times(notebook):
    scope = notebook("waiting_times", picture=True)
    weeks, prior = scope["X"][:, 0], scope["fits"]["Exponential"].prior.families["x"]
    centre, spread = (float(np.ravel(part)[0]) for part in (prior.centre, prior.spread))
    log_evidence = gammaln(18) + gammaln(17) - gammaln(35)  # of 17 and 16 labels under a uniform prior
    for k in (0, 1):
        own = weeks[scope["y"] == k]

        def density(phi, own=own):  # of the log rate, and of the rows
            return np.exp(len(own) * phi - np.exp(phi) * own.sum() + 80.0) * stats.norm.pdf(phi, centre, spread)

        log_evidence += np.log(integrate.quad(density, -8, 0, epsabs=0.0)[0]) - 80.0
    assert_allclose(scope["evidence"]["weeks"].log_evidence["Exponential"], log_evidence, atol=1e-6)
    assert {next(iter(found.log_evidence)) for found in scope["evidence"].values()} == {"Exponential"}
    tumours = scope["of_tumours"]
    assert tumours["Exponential"][0] < tumours["Gamma"][0] - 1000
    assert tumours["Exponential"][1] < tumours["Gamma"][1]
    assert tumours["Exponential"][2] > tumours["Gamma"][2]
