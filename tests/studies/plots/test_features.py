"""Bars of what features say and the graph of probable edges: what is drawn is what the fit says."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb import plots
from bayesnb.inspection._explain import explain
from bayesnb.studies.plots._features import _neighbours_first, draw_edges
from tests import cases
from tests.studies.plots.conftest import ticks

PROBS = np.array([[0.0, 0.45, 0.0, 0.0], [0.45, 0.0, 0.3, 0.0], [0.0, 0.0, 0.0, 0.05], [0.0, 0.0, 0.05, 0.0]])


def arrows(ax):
    return [text.arrow_patch for text in ax.texts if getattr(text, "arrow_patch", None) is not None]


def labels(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_edges_of_both_directions_and_of_one():
    ax = draw_edges(Figure().subplots(), PROBS, ["a", "b", "c", "d"], 0.2)
    assert sorted(labels(ax)) == ["a", "b", "c"]
    assert "features without any: 1" in ax.get_title()
    both, one = sorted(arrows(ax), key=lambda arrow: -arrow.get_linewidth())
    assert (type(both.get_arrowstyle()).__name__, type(one.get_arrowstyle()).__name__) == ("Curve", "CurveFilledB")
    assert (both.get_linestyle(), one.get_linestyle()) == ("-", "--")


def test_features_that_belong_together_stand_together():
    either = np.zeros((6, 6))
    for i, j in ((0, 4), (4, 2), (1, 5)):
        either[i, j] = either[j, i] = 0.9
    order = _neighbours_first(either).tolist()
    assert sorted(order) == list(range(6))
    for group in ({0, 2, 4}, {1, 5}):
        places = [order.index(feature) for feature in group]
        assert max(places) - min(places) == len(group) - 1


@pytest.mark.parametrize("num_features", [3, 7, 12])
def test_few_names_stand_level_and_apart_from_each_other_and_from_the_title(num_features):
    either = np.full((num_features, num_features), 0.3)
    picture = Figure(figsize=(6, 4.5), layout="constrained")
    ax = draw_edges(picture.subplots(), either, [f"a feature, number {i}" for i in range(num_features)], 0.2)
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in (*ax.texts, ax.title) if text.get_text()]
    assert len(boxes) == num_features + 1
    assert not [(i, j) for j in range(len(boxes)) for i in range(j) if boxes[i].overlaps(boxes[j])]


def test_the_graph_of_a_fit(rng):
    flags = rng.integers(0, 2, (60, 1)).repeat(2, axis=1)
    X = {"flags": np.c_[flags, rng.integers(0, 2, 60)], "size": rng.normal(size=(60, 1)) + 3 * flags[:, :1]}
    model = nb.NaiveBayes({"flags": nb.Bernoulli(), "size": nb.Normal()})
    fit = nb.fit_forests(model, X, np.arange(60) % 2)
    ax = nb.plots.dependence(Figure().subplots(), fit, feature_names={"flags": ["one", "same", "other"]}, least=0.4)
    drawn = fit.edge_probs + fit.edge_probs.T >= 0.4
    assert len(arrows(ax)) == np.triu(drawn).sum()
    assert {"one", "same"} <= {*labels(ax)} <= {"one", "same", "other", "size"}
    with pytest.raises(ValueError, match="block 'flags' must be a list of 3 names, got 1"):
        nb.plots.dependence(Figure().subplots(), fit, feature_names={"flags": ["one"]})
    nothing = nb.plots.dependence(Figure().subplots(), fit, least=1.1)
    assert not arrows(nothing)
    assert "features without any: 4" in nothing.get_title()


@pytest.mark.parametrize("name", cases.by_default(["mixed", "multinomial"], "multinomial"))
def test_bars_add_up_to_the_log_odds(ax, name):
    case = cases.make(name)
    explanation = explain(nb.fit_posterior(case.model, case.X, case.y), case.X)
    assert plots.contribution_bars(ax, explanation=explanation, row=3, of=2, count=4) is ax
    widths = [patch.get_width() for patch in ax.patches]
    assert_allclose(sum(widths[:-1]), explanation.log_odds[3, 2])
    assert_allclose(widths[-1], explanation.log_odds[3, 2])
    assert_allclose(widths[0], explanation.prior[2])
    assert_allclose(widths[1:5], [part.log_odds for part in explanation.top(3, 4, of=2)])
    assert ticks(ax.yaxis) == [part.label for part in [*explanation.parts(3, 4, of=2), explanation.total(3, of=2)]]
    assert {bool(patch.get_hatch()) for patch in ax.patches if patch.get_width() < 0} == {True}
    assert not any(patch.get_hatch() for patch in ax.patches if patch.get_width() > 0)
    assert ax.get_xlabel() == "log odds [nats]"


def test_whiskers_are_the_intervals(ax, normal, key):
    fit, case = normal
    explanation = explain(fit, case.X, key=key, num_draws=20)
    plots.contribution_bars(ax, explanation, 0, of=1)
    found = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    order = [explanation.feature_names.index(part.name) for part in explanation.top(0, of=1)]
    prior, features, total = explanation.intervals
    expected = [[end[1] for end in prior], *np.array([end[0, 1, order] for end in features]).T]
    assert_allclose(found, [*expected, [end[0, 1] for end in total]])


def test_infinite_bars_are_the_longest_and_are_marked(ax):
    params = {"class_probs": [0.5, 0.5], "x_probs": [[0.5, 0.1], [0.0, 0.9]]}
    explanation = explain(nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params), np.array([[1, 1]]))
    plots.contribution_bars(ax, explanation)
    widths = [patch.get_width() for patch in ax.patches]
    assert np.isfinite(widths).all()
    assert min(widths) == widths[1] == widths[-1] < -np.log(9)
    assert [text.get_text() for text in ax.texts] == ["+0", "−∞", "+2.2", "−∞"]


def test_inclusion_bars_are_probabilities_beside_log_bayes_factors(ax):
    X = {"x": np.c_[np.arange(8) % 2, np.arange(8) // 4], "z": np.arange(8.0)[:, None]}
    found = nb.feature_inclusion(nb.NaiveBayes({"x": nb.Bernoulli(), "z": nb.Normal()}), X, np.arange(8) % 2)
    plots.inclusion_bars(ax, inclusion=found, feature_names={"x": ["label itself", "noise"]})
    assert ticks(ax.yaxis)[0] == "label itself"
    assert sorted(ticks(ax.yaxis)) == ["label itself", "noise", "z"]
    every = np.r_[found.probability["x"], found.probability["z"]]
    assert_allclose([patch.get_width() for patch in ax.patches], np.sort(every)[::-1])
    factors = np.sort(np.r_[found.log_bayes_factor["x"], found.log_bayes_factor["z"]])[::-1]
    assert_allclose([float(text.get_text().replace("−", "-")) for text in ax.texts], factors, rtol=5e-3)
    plots.inclusion_bars(Figure().subplots(), nb.results.FeatureInclusion(every, every), count=2)
    with pytest.raises(ValueError, match="block 'x' must be a list of 2 names, got 1"):
        plots.inclusion_bars(ax, found, {"x": ["alone"]})
