"""Cost curves, gains of streams and decisions that stay are those of decisions and of log probabilities."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_curve

import bayesnb as nb
from bayesnb import plots


@pytest.fixture
def ax():
    return Figure().subplots()


def rows(seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(400) < 0.3).astype(int)
    score = 1.0 / (1.0 + np.exp(-rng.normal(2.0 * y - 1.5, 1.5).round(1)))
    return np.stack([1.0 - score, score], axis=1), y


def test_the_cost_curve_is_what_decisions_cost(ax):
    proba, y = rows()
    plots.cost_curve(ax, {"one": proba, "other": proba**3 / (proba**3).sum(axis=1, keepdims=True)}, y)
    trivial, one, lowest, other, other_lowest = ax.lines
    x, p = one.get_xdata(), y.mean()
    assert_allclose(trivial.get_ydata(), np.minimum(x, 1 - x))
    for place in (0, 40, 100, 177, 200):
        w = x[place] * (1 - p) / (x[place] * (1 - p) + (1 - x[place]) * p)  # the cost of a miss
        costs = np.array([[0.0, 1.0 - w], [w, 0.0]])
        labels = nb.decide(proba, costs).labels
        assert_allclose(one.get_ydata()[place], costs[y, labels].mean() / costs.max(axis=1)[y].mean(), atol=1e-12)
    # the same order of rows has the same best threshold
    alarms, hits, _ = roc_curve(y, proba[:, 1], drop_intermediate=False)
    expected = (x[:, None] * (1 - hits) + (1 - x[:, None]) * alarms).min(axis=1)
    for line in (lowest, other_lowest):
        assert_allclose(line.get_ydata(), expected)
    assert (one.get_ydata() >= expected - 1e-12).all()
    assert other.get_ydata().mean() > one.get_ydata().mean()  # too sure
    assert ax.get_legend_handles_labels()[1] == ["one", "other"]


def test_the_cost_curve_of_one_table_alone(ax):
    proba, y = rows()
    plots.cost_curve(ax, proba, y, envelope=False)
    assert len(ax.lines) == 2
    assert not ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    ("proba", "y", "sentence"),
    [
        (np.full((3, 3), 1 / 3), [0, 1, 1], r"\[N, 2\]"),
        (np.full((3, 2), 0.5), [0, 0, 0], "both of which occur"),
        (np.full((3, 2), 0.5), [0, 1, 2], "both of which occur"),
        (np.full((3, 2), 0.7), [0, 1, 1], "sum 1"),
    ],
)
def test_the_cost_curve_refuses(ax, proba, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        plots.cost_curve(ax, proba, y)


def test_the_robustness_curve_is_the_accuracy_of_decisions_that_stay(ax):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = (rng.random((40, 3)) < np.where(y, 0.65, 0.35)[:, None]).astype(int)
    post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
    found = nb.robustness(post, X)
    plots.robustness_curve(ax, found, y)
    accuracy, left, wrong = ax.get_lines()
    right = post.predict(X) == y
    assert len(np.unique(found.s_star)) < 40
    shares = (accuracy, lambda stay: right[stay].mean()), (left, np.mean), (wrong, lambda stay: right[stay].mean())
    for line, share in shares:
        assert_allclose(line.get_ydata(), [share(found.s_star >= s) for s in line.get_xdata()])
    assert_allclose(np.sort(wrong.get_xdata()), np.sort(found.s_star[~right]))
    for wrong, got in ((y[1:], r"int64 of shape \(39,\)"), (y.astype(str), "<U21"), (np.full(40, np.nan), "float64")):
        with pytest.raises(ValueError, match=rf"y must be labels \[40\], integers .* one for each row .* got {got}"):
            plots.robustness_curve(ax, found, wrong)
    with pytest.raises(ValueError, match="found must be of one row or more"):
        plots.robustness_curve(ax, nb.robustness(post, X[:0]), y[:0])


@pytest.mark.slow
def test_gains_add_up_to_log_bayes_factors(ax):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (60, 2)), rng.integers(0, 2, 60)
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    given = {f"f = {factor}": nb.prequential(model, X, y, factor) for factor in (1.0, 0.9)}
    plots.prequential_gain(ax, given, changes=[30])
    change, base, gain = ax.lines
    assert_allclose(change.get_xdata(), [30, 30])
    assert_allclose(base.get_ydata(), np.zeros(60))
    assert_allclose(gain.get_ydata()[-1], given["f = 0.9"].sum() - given["f = 1.0"].sum())
    assert_allclose(np.diff(gain.get_ydata()), (given["f = 0.9"] - given["f = 1.0"])[1:], atol=1e-12)
    assert ax.get_legend_handles_labels()[1] == [*given]
    for wrong in ({}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": 1.0}):
        with pytest.raises(ValueError, match="one length"):
            plots.prequential_gain(ax, wrong)


def test_a_curve_of_any_name_is_drawn(ax):
    curves = {"mine": (np.array([1.0, 0.5]), np.zeros(2)), "MLE": (np.array([2.0, 0.7]), np.zeros(2))}
    plots.learning_curve(ax, [10, 20], curves, "log loss")
    drawn = dict(zip(ax.get_legend_handles_labels()[1], ax.get_legend_handles_labels()[0], strict=True))
    assert set(drawn) == {"mine", "MLE"}
    assert_array_equal(drawn["mine"].get_ydata(), [1.0, 0.5])
