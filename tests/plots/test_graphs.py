"""The graph of probable edges: what is drawn is what the fit says."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayesnb as nb
from bayesnb.plots.features import _neighbours_first, draw_edges

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
