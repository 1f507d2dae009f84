"""A nomogram is read as one reads it: values to nats, nats added up, the sum to a probability."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.special import expit, logit

import bayesnb as nb
from bayesnb import plots
from bayesnb.studies.plots import _nomograms as nomograms
from tests import cases


def drawn(*args, size=(9, 7), **options):
    ax = Figure(size, layout="constrained").subplots()
    assert plots.nomogram(ax, *args, **options) is ax
    return ax


def axes_of(ax):
    """The labelled ticks by the name of the axis: arrays of texts' numbers and their places; others by their texts."""
    heights = dict(zip((label.get_text() for label in ax.get_yticklabels()), ax.get_yticks(), strict=True))
    found = {name: [] for name in heights}
    for text in (text for text in ax.texts if "P =" not in text.get_text()):
        place, height = text.get_position()
        name = min(heights, key=lambda name: abs(heights[name] - height))
        found[name].append((text.get_text().replace("−", "-"), place))
    return {name: dict(parts) for name, parts in found.items()}


def probability(ax, total):
    """Read off below the sum: straight lines through two labelled ticks each."""
    axes = axes_of(ax)
    sums = [(float(text), place) for text, place in axes["sum [nats]"].items()]
    name = next(name for name in axes if name.startswith("P("))
    probs = [(logit(float(text)), place) for text, place in axes[name].items()]
    (a, at_a), (b, at_b) = min(sums), max(sums)
    place = at_a + (total - a) * (at_b - at_a) / (b - a)
    (p, at_p), (q, at_q) = min(probs), max(probs)
    return expit(p + (place - at_p) * (q - p) / (at_q - at_p))


def categories(num_classes):
    rng = np.random.default_rng(1)
    y = np.arange(60) % num_classes
    X = (rng.random((60, 3)) * (2 + y[:, None])).astype(int) % 4
    probs = np.arange(1, num_classes + 1) / sum(range(num_classes + 1))
    return nb.fit_posterior(nb.NaiveBayes(nb.Categorical(4), class_probs=probs), X, y), X


@pytest.mark.parametrize("num_classes", [2, 3])
def test_the_probability_at_the_sum_is_the_prediction(num_classes):
    fit, X = categories(num_classes)
    ax = drawn(fit, X, of=num_classes - 1, against=0)
    axes = axes_of(ax)
    sums = [sum(axes[f"x[{d}]"][str(code)] for d, code in enumerate(row)) for row in X]
    probs = fit.predict_proba(X)
    expected = probs[:, -1] / (probs[:, -1] + probs[:, 0])
    assert_allclose([probability(ax, total) for total in sums], expected, rtol=0, atol=1e-9)
    assert ("P(1)" if num_classes == 2 else "P(2) of the two") in axes


def test_the_scale_on_top_is_in_nats():
    fit, X = categories(2)
    for text, place in axes_of(drawn(fit, X))["log odds [nats]"].items():
        assert_allclose(float(text), place, atol=1e-12)


def test_features_that_are_not_drawn_are_unknown():
    fit, X = categories(2)
    ax = drawn(fit, X, count=2)
    axes = axes_of(ax)
    shown = [d for d in range(3) if f"x[{d}]" in axes]
    assert len(shown) == 2
    assert axes["1 other feature"] == {" unknown: 0": 0.0}
    partly = X.astype(float)
    partly[:, [d for d in range(3) if d not in shown]] = np.nan
    sums = [sum(axes[f"x[{d}]"][str(row[d])] for d in shown) for row in X]
    assert_allclose([probability(ax, total) for total in sums], fit.predict_proba(partly)[:, 1], rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_row_is_marked_with_its_prediction_whatever_is_drawn():
    case = cases.mix(["bernoulli", "ragged", "binomial", "normal"])
    fit = nb.fit_posterior(case.model, case.X, case.y)
    tempered = nb.temper(fit, case.X, case.y)
    for each, row in [(tempered, 3), (tempered, 4), (fit, 9)]:
        ax = drawn(each, case.X, of=2, against=1, count=3, row=row)
        marks = [line for line in ax.lines if line.get_marker() in "D<>"]
        total = sum(line.get_xdata()[0] for line in marks[:-2])
        probs = each.predict_proba(case.X)[row]
        assert_allclose(probability(ax, total), probs[2] / (probs[1] + probs[2]), rtol=0, atol=1e-9)
        assert "10 other features" in axes_of(ax)
        if marks[-1].get_marker() == "D":
            name = "P(2) of the two"
            assert_allclose(marks[-1].get_ydata()[0], dict(zip(axes_of(ax), ax.get_yticks(), strict=True))[name])


def test_measurements_have_ticks_at_what_they_contribute_on_both_sides_of_a_turn():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 2)) * np.where(y[:, None] == 1, [3.0, 1.0], [1.0, 1.0]) + np.outer(y, [0, 2])
    fit = nb.fit_map(nb.NaiveBayes(nb.Normal()), X, y)
    axes = axes_of(drawn(fit, X))
    loc, variance = fit.params["x_loc"], fit.params["x_variance"]
    for d in range(2):
        values = np.array([float(text) for text in axes[f"x[{d}]"]])
        log = -0.5 * (np.log(variance[:, [d]]) + (values - loc[:, [d]]) ** 2 / variance[:, [d]])
        assert_allclose(list(axes[f"x[{d}]"].values()), log[1] - log[0], atol=1e-5)
        assert len(values) > 3
    assert min(float(text) for text in axes["x[0]"]) < 0 < max(float(text) for text in axes["x[0]"])


def test_branches_rise_or_fall():
    values = np.linspace(0, 1, 101)
    scale = nomograms.Scale("x", values, np.cos(7 * values), [""] * 101, True)
    branches = scale.branches(0.1)
    assert [branch.start for branch in branches] == [0, 45, 90]
    assert branches[-1].stop == 101
    for sign, branch in zip((-1, 1, -1), branches, strict=True):
        assert (sign * np.diff(scale.nats[branch]) > 0).all()
    assert len(scale.branches(3.0)) == 1
    assert scale._replace(ordered=False).branches(0.1) == [slice(0, 101)]


def test_words_and_their_length_have_axes():
    rows = np.array([[3, 0, 1], [0, 2, 0], [1, 0, 0], [0, 1, 1]])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, [0, 1, 0, 1])
    ax = drawn(fit, rows, feature_names=["a", "b", "c"], size=(80, 7))
    axes = axes_of(ax)
    sums = [
        sum(axes[name][str(count)] for name, count in zip(("a", "b", "c", "length"), [*row, sum(row)], strict=True))
        for row in rows[:2]
    ]
    assert_allclose([probability(ax, total) for total in sums], fit.predict_proba(rows[:2])[:, 1], rtol=0, atol=1e-9)


def test_words_have_the_powers_of_one_length():
    """Of the marked row, or else of a row of mean length."""
    rows = np.array([[3, 0, 1], [0, 2, 0], [1, 0, 0], [0, 1, 1]])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), rows, [0, 1, 0, 1])
    raised, names = fit.with_powers(0.9, length_exponents=0.5, class_power=0.7), ["a", "b", "c"]
    for row, length in ((0, 4.0), (None, rows.sum() / 4)):
        at_length = fit.with_powers(0.9 * (1.0 + length) ** -0.5, class_power=0.7)
        found, expected = (axes_of(drawn(one, rows, feature_names=names, row=row)) for one in (raised, at_length))
        for name in (*names, "length"):
            assert_allclose([*found[name].values()], [*expected[name].values()])


def test_a_subfigure_has_room_for_it():
    fit, X = categories(2)
    left, _ = Figure((9, 5), layout="constrained").subfigures(1, 2)
    assert "P(1)" in axes_of(plots.nomogram(left.subplots(), fit, X))


def test_codes_bear_their_names():
    fit, X = categories(2)
    ax = drawn(fit, X, feature_names=["a", "b", "c"], value_names={"b": ["none", "few", "some", "many"]})
    assert set(axes_of(ax)["b"]) == {"none", "few", "some", "many"}


@pytest.mark.parametrize("size", [(4, 3), (9, 7)])
def test_labels_do_not_overlap(size):
    case = cases.make("mixed")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    ax = drawn(fit, case.X, count=4, row=2, size=size, class_names=[f"a long name of class {k}" for k in range(3)])
    figure = ax.figure
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    pairs = [(a, b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert not any(a.shrunk(0.95, 0.8).overlaps(b.shrunk(0.95, 0.8)) for a, b in pairs)


def test_what_is_refused():
    fit, X = categories(2)
    with pytest.raises(ValueError, match="of and against are two classes, got '1' for both"):
        drawn(fit, X, of=1, against=1)
    mle = nb.fit_mle(nb.NaiveBayes(nb.Categorical(2)), np.array([[0], [1], [0], [0]]), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="is impossible at 1 in one of the two classes, which no axis reaches"):
        drawn(mle, np.array([[0], [1]]))
    case = cases.make("covariance")
    with pytest.raises(ValueError, match="nothing to draw"):
        drawn(nb.fit_posterior(case.model, case.X, case.y), case.X)


def test_an_estimator_names_its_columns_classes_and_categories():
    rows = pd.DataFrame({"colour": ["red", "blue", "red", "blue"] * 3, "age": np.arange(12.0)})
    classifier = nb.NaiveBayesClassifier().fit(rows, ["no", "yes"] * 6)
    ax = drawn(classifier, rows, of="yes", against="no")
    assert axes_of(ax)["colour"].keys() >= {"red", "blue"}
    assert "P(yes)" in axes_of(ax)
