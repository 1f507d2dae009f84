"""The benchmark of probabilities: runs are kept, the tables are right, and the rival that we wrote is naive Bayes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.naive_bayes import CategoricalNB, GaussianNB

import bayesnb as nb
from tests.benchmarks.probabilities import cells, run
from tests.benchmarks.probability_methods import Rows
from tests.benchmarks.probability_rivals import fit_product
from tests.benchmarks.probability_tables import beside, by_size


def test_runs_that_the_file_has_are_not_repeated(tmp_path):
    todo, results = cells(["iris"], ["20", "50"], 1, 0), tmp_path / "runs.csv"
    run(todo[:1], ["scikit-learn's NB"], results)
    first = results.read_text()
    run(todo, ["posterior", "scikit-learn's NB"], results)
    assert results.read_text().startswith(first)
    found = pd.read_csv(results)
    assert len(found) == 4
    assert not found.duplicated(["set", "size", "split", "method"]).any()
    assert found["log_loss"].between(0, 1.2).all()


def test_a_cell_is_a_mean_of_the_splits_that_both_methods_have():
    losses = {
        ("a", "20", 0): (1.0, 0.5),
        ("a", "20", 1): (0.6, 0.3),
        ("a", "20", 2): (9.0, None),
        ("a", "50", 0): (0.5, 0.5),
        ("b", "20", 0): (0.2, 0.5),
    }
    runs = pd.DataFrame(
        [
            {"set": name, "size": size, "split": split, "method": method, "log_loss": loss}
            for (name, size, split), pair in losses.items()
            for method, loss in zip("xy", pair, strict=True)
            if loss is not None
        ]
    ).assign(brier=0.0, ece=0.0, accuracy=1.0, seconds=0.1)
    row = beside(runs, [("y", "x")]).iloc[0]
    # cells: a/20 .4 - .8, a/50 .5 - .5, b/20 .5 - .2; sets: a -.2, b +.3
    assert row[["cells", "won", "lost", "median", "mean"]].tolist() == [3, "33%", "33%", "+.000", "-.033"]
    assert row["mean of sets"] == "+.050 (.250)"
    assert row[["best", "worst"]].tolist() == ["-.400 a/20", "+.300 b/20"]
    assert by_size(runs, ["x", "y"]).loc["x", "20 (2)"] == ".500 / .500"


@pytest.mark.parametrize("blocks", [("numeric",), ("categorical",), ("categorical", "numeric")])
def test_the_product_of_naive_bayes_classifiers_is_naive_bayes(blocks):
    rng = np.random.default_rng(0)
    y = np.minimum(np.arange(60) % 5, 2)
    data = {"numeric": rng.normal(size=(60, 2)) + y[:, None], "categorical": rng.integers(0, 4, (60, 2))}
    X = {block: data[block] for block in blocks}
    families = {"numeric": nb.Normal(), "categorical": nb.Categorical(4)}
    model = nb.NaiveBayes({block: families[block] for block in blocks}, num_classes=3)
    found = fit_product(Rows(model, X, y, 0)).predict_log_proba(X)
    prior = np.log([0.2, 0.2, 0.6])
    joint = np.tile(prior, (60, 1))
    for block, classifier in (("numeric", GaussianNB()), ("categorical", CategoricalNB(min_categories=4))):
        if block in X:
            joint += classifier.fit(X[block], y).predict_log_proba(X[block]) - prior
    assert_allclose(found, log_softmax(joint, axis=1), atol=1e-10)
