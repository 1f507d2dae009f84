"""Numbers that are read back from the pictures of a fit are those of the fit."""

import jax
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesnb as nb
from bayesnb import plots
from bayesnb.inspection.explain import explain
from bayesnb.plots import style
from tests import cases


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def normal():
    case = cases.make("informed")
    return nb.fit_posterior(case.model, case.X, case.y), case


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


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


@pytest.mark.slow
def test_densities_are_those_of_the_parameters(ax):
    case = cases.make("informed")
    fit = nb.fit_map(case.model, case.X, case.y)
    plots.class_densities(ax, fit, 1, class_names=["a", "b", "c"], feature_name="size [cm]")
    for k, line in enumerate(ax.lines):
        x, y = line.get_data()
        loc, variance = (np.asarray(fit.params[f"x_{site}"])[k, 1] for site in ("loc", "variance"))
        assert_allclose(y, stats.norm.pdf(x, loc, np.sqrt(variance)), rtol=1e-6)
        assert x.min() < loc - 3 * np.sqrt(variance) < loc + 3 * np.sqrt(variance) < x.max()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("size [cm]", "density")
    assert ax.get_legend_handles_labels()[1] == ["a", "b", "c"]


@pytest.mark.slow
def test_a_band_is_the_quantiles_of_the_densities_and_holds_the_exact_predictive(ax, normal, key):
    fit, _ = normal
    plots.class_densities(ax, fit, 0, key=key, num_draws=400, level=0.8)
    draws = fit.sample(key, 400)
    x = ax.lines[2].get_xdata()
    density = stats.norm.pdf(x, draws["x_loc"][:, 2, [0]], np.sqrt(draws["x_variance"][:, 2, [0]]))
    low, high = np.quantile(density, [0.1, 0.9], axis=0)
    band = ax.collections[2].get_paths()[0].vertices
    for value, ends in zip(x, zip(low, high, strict=True), strict=True):
        of_value = band[np.isclose(band[:, 0], value, rtol=0, atol=1e-9), 1]
        assert_allclose([of_value.min(), of_value.max()], ends, atol=1e-7)
    rows = np.full((len(x), 3), np.nan)
    rows[:, 0] = x
    exact = np.exp(fit.log_joint(rows)[:, 2]) / fit.model.class_mean()[2]
    error = density.std(axis=0) / np.sqrt(400)
    assert_allclose((ax.lines[2].get_ydata() - exact) / error, 0, atol=5)


@pytest.mark.parametrize(
    "name", cases.by_default(["bernoulli", "categorical", "ragged", "binomial", "multinomial"], "ragged", "multinomial")
)
def test_bars_of_counts_are_probabilities(ax, name, key):
    case = cases.make(name)
    fit = nb.fit_map(case.model, case.X, case.y)
    plots.class_densities(ax, fit, 1)
    heights = np.reshape([patch.get_height() for patch in ax.patches], (3, -1))
    params = {site.removeprefix("x_"): np.asarray(value) for site, value in fit.params.items()}
    if name == "ragged":
        expected = params["probs_1"]
    elif name == "categorical":
        expected = params["probs"][:, 1]
    elif name == "multinomial":
        expected = params["probs"][:, [1]]
    else:
        trials = 7 if name == "binomial" else 1
        expected = stats.binom.pmf(np.arange(trials + 1), trials, params["probs"][:, [1]])
    assert_allclose(heights, expected, rtol=1e-5, atol=1e-12)
    assert not ax.collections
    plots.class_densities(ax, nb.fit_posterior(case.model, case.X, case.y), 1, key=key, num_draws=5)
    assert len(ax.collections) == 3


@pytest.mark.slow
def test_many_counts_are_lines_and_a_column_of_a_covariance_stands_alone(ax, key):
    case = cases.make("poisson")
    rows = case.X + 30
    fit = nb.fit_map(case.model, rows, case.y)
    plots.class_densities(ax, fit, 2)
    x, y = ax.lines[0].get_data()
    assert_allclose(y, stats.poisson.pmf(x, fit.params["x_rate"][0, 2]), rtol=1e-4)
    for name in ("covariance", "discriminant"):
        case = cases.make(name)
        fit = nb.fit_map(case.model, case.X, case.y)
        alone = plots.class_densities(Figure().subplots(), fit, 1)
        x, y = alone.lines[0].get_data()
        variance = np.asarray(fit.params["x_covariance"])[..., 1, 1].flat[0]
        assert_allclose(y, stats.norm.pdf(x, fit.params["x_loc"][0, 1], np.sqrt(variance)), rtol=1e-5)
    mixed = cases.make("mixed")
    fit = nb.fit_posterior(mixed.model, mixed.X, mixed.y)
    assert plots.class_densities(ax, fit, 0, block="normal", key=key, num_draws=3) is ax
    with pytest.raises(ValueError, match=r"block is one of 'bernoulli', .*, got None"):
        plots.class_densities(ax, fit, 0, key=key)
    with pytest.raises(ValueError, match="column is a number below 3, got 3"):
        plots.class_densities(ax, fit, 3, block="normal", key=key)
    with pytest.raises(ValueError, match="give key"):
        plots.class_densities(ax, fit, 0, block="normal")


def test_the_forest_has_means_and_intervals(ax, normal, key):
    fit, _ = normal
    plots.forest(ax, fit, "x_loc", key=key, num_draws=50, level=0.8, feature_names=["a", "b", "c"])
    draws = fit.sample(key, 50)["x_loc"]
    assert ticks(ax.yaxis) == ["a", "b", "c"]
    for k in range(3):
        assert_allclose(ax.lines[k].get_xdata(), draws[:, k].mean(axis=0))
        ends = np.array([segment[:, 0] for segment in ax.collections[k].get_segments()])
        assert_allclose(ends, np.quantile(draws[:, k], [0.1, 0.9], axis=0).T)
    places = [line.get_ydata()[0] for line in ax.lines[:3]]
    assert places == sorted(set(places))
    assert ax.get_xlabel() == "x_loc: mean, 80 % interval"


@pytest.mark.parametrize(
    ("name", "site", "lines"),
    [
        ("shared", "x_variance", ["x[0]", "x[1]", "x[2]"]),
        ("categorical", "x_probs", [f"x[{d}] = {c}" for d in range(2) for c in range(3)]),
        ("ragged", "x_probs_2", [f"x[2] = {c}" for c in range(3)]),
        ("normal", "class_probs", ["0", "1", "2"]),
        ("discriminant", "x_covariance", [f"x[{a}], x[{b}]" for a in range(3) for b in range(3)]),
    ],
)
def test_every_site_has_a_forest(ax, name, site, lines):
    case = cases.make(name)
    fit = nb.fit_map(case.model, case.X, case.y)
    plots.forest(ax, fit, site)
    assert ticks(ax.yaxis) == lines
    found = np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() != "None"])
    assert_allclose(found, np.ravel(fit.params[site]))
    with pytest.raises(ValueError, match=r"site is one of class_probs, .*, got 'x_other'"):
        plots.forest(ax, fit, "x_other")


def test_of_many_parameters_those_are_shown_that_tell_classes_apart(ax, key):
    X = np.random.default_rng(0).normal(size=(30, 5)) + np.outer(np.arange(30) % 2, [0, 5, 0, 0, 9])
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, np.arange(30) % 2)
    plots.forest(ax, fit, "x_loc", key=key, num_draws=50, count=2)
    assert ticks(ax.yaxis) == ["x[1]", "x[4]"]
    assert ticks(plots.forest(Figure().subplots(), fit, "x_loc", key=key, columns=[3, 0]).yaxis) == ["x[3]", "x[0]"]
    for unknown in ([0, 5], [-1], [0.5], 2, ["x[1]"], [True]):
        with pytest.raises(ValueError, match=r"columns are indices of lines, integers from 0 to 4, got") as error:
            plots.forest(ax, fit, "x_loc", key=key, columns=unknown)
        assert "\n" not in str(error.value)


def test_regions_are_the_predictions_of_the_two_columns_alone(ax, normal):
    fit, case = normal
    plots.decision_regions(ax, fit, case.X, case.y, columns=(2, 0), resolution=30, feature_names=["a", "b", "c"])
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    grid = np.stack(np.meshgrid(np.linspace(left, right, 30), np.linspace(bottom, top, 30)), axis=-1)
    prior = fit.prior.families["x"]
    parts = {name: getattr(prior, name)[:, [2, 0]] for name in ("loc", "strength", "shape", "rate")}
    model = nb.NaiveBayes(nb.Normal(**parts), class_concentration=fit.prior.class_concentration)
    alone = nb.fit_posterior(model, case.X[:, [2, 0]], case.y)
    probs = alone.predict_proba(grid.reshape(-1, 2)).reshape(30, 30, 3)
    colours = np.array([to_rgb(style.class_colour(k)) for k in range(3)])[probs.argmax(axis=2)]
    sure = (probs.max(axis=2) - 1 / 3) / (2 / 3)
    assert_allclose(
        np.asarray(image.get_array()), 1 - 0.6 * (0.15 + 0.85 * sure)[:, :, None] * (1 - colours), atol=1e-9
    )
    points = [scatter for scatter in ax.collections if scatter.get_label() in "012"]
    for k, scatter in enumerate(points):
        assert_array_equal(scatter.get_offsets(), case.X[case.y == k][:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    plots.decision_regions(Figure().subplots(), fit, case.X, resolution=10)
    with pytest.raises(ValueError, match="columns are two different ones"):
        plots.decision_regions(ax, fit, case.X, columns=(1, 1))


@pytest.mark.slow
def test_regions_of_one_block_among_others(ax):
    case = cases.make("mixed")
    fit = nb.fit_posterior(case.model, case.X, case.y)
    drawn = plots.decision_regions(ax, fit, case.X["normal"], block="normal", resolution=8)
    alone = nb.fit_posterior(
        nb.NaiveBayes(case.model.families["normal"], class_concentration=[0.5, 1.0, 2.0]), case.X["normal"], case.y
    )
    other = plots.decision_regions(Figure().subplots(), alone, case.X["normal"], resolution=8)
    assert_allclose(np.asarray(drawn.images[0].get_array()), np.asarray(other.images[0].get_array()), atol=1e-9)
    assert {text.get_text() for text in drawn.texts} <= {"0", "1", "2"}


def test_classes_are_told_apart_without_colour():
    styles = [style.class_line(k) for k in range(10)]
    assert len({style["marker"] for style in styles}) == 10
    assert len({style.class_hatch(k) for k in range(10)}) == 10
    assert style.shorten("a" * 40) == "a" * 23 + "…" + "a" * 8
    assert style.shorten("$x$") == r"\$x\$"


@pytest.mark.slow
def test_pictures_of_jax_fits(ax, key):
    case = cases.make("informed")
    fit = nb.fit_posterior(case.model, jax.numpy.asarray(case.X), jax.numpy.asarray(case.y))
    plots.class_densities(ax, fit, key=key, num_draws=3)
    plots.forest(ax, fit, "x_loc", key=key, num_draws=3)
    assert plots.decision_regions(Figure().subplots(), fit, case.X, case.y, resolution=5).images


def test_a_curve_of_any_name_is_drawn(ax):
    curves = {"mine": (np.array([1.0, 0.5]), np.zeros(2)), "MLE": (np.array([2.0, 0.7]), np.zeros(2))}
    plots.learning_curve(ax, [10, 20], curves, "log loss")
    drawn = dict(zip(ax.get_legend_handles_labels()[1], ax.get_legend_handles_labels()[0], strict=True))
    assert set(drawn) == {"mine", "MLE"}
    assert_array_equal(drawn["mine"].lines[0].get_ydata(), [1.0, 0.5])
