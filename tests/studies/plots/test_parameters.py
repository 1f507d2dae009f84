"""Densities, forests and classes as they are drawn: numbers read back from the pictures are those of the fit."""

import jax
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy import stats

import bayesnb as nb
from bayesnb import plots
from tests import cases
from tests.studies.plots.conftest import ticks


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


@pytest.mark.slow
def test_pictures_of_jax_fits(ax, key):
    case = cases.make("informed")
    fit = nb.fit_posterior(case.model, jax.numpy.asarray(case.X), jax.numpy.asarray(case.y))
    plots.class_densities(ax, fit, key=key, num_draws=3)
    plots.forest(ax, fit, "x_loc", key=key, num_draws=3)
    assert plots.decision_regions(Figure().subplots(), fit, case.X, case.y, resolution=5).images


def test_densities_of_mapped_cells_are_of_x(ax):
    """A log-normal's, times the share of the rest where 0 is a value of its own, which has its probability."""
    params = {"class_probs": [0.5, 0.5], "x_loc": [[0.0], [1.0]], "x_variance": [[0.25], [0.04]]}
    families = nb.LogNormal(), nb.Hurdle(nb.LogNormal(), at=0.0)
    plain, beside = (nb.NaiveBayes(family).resolve([[1.0], [2.0], [3.0], [5.0]], [0, 0, 1, 1]) for family in families)
    plots.class_densities(ax, nb.PointEstimate(plain, params), 0)
    probs = np.array([[0.6, 0.4], [0.1, 0.9]])
    plots.class_densities(ax, nb.PointEstimate(beside, {**params, "x_atoms": probs[:, None]}), 0)
    for k, (one, other) in enumerate(zip(ax.lines[:2], ax.lines[2:], strict=True)):
        density = lambda x, k=k: stats.lognorm.pdf(x, [0.5, 0.2][k], scale=np.exp(k))  # noqa: E731
        x, y = one.get_data()
        assert np.isfinite(x).all()
        assert x.max() > np.exp(k + [0.5, 0.2][k])
        assert_allclose(y, density(x), rtol=1e-6)
        x, y = other.get_data()
        assert_allclose(y[x != 0.0], probs[k, 1] * density(x[x != 0.0]), rtol=1e-6)
        assert y[x == 0.0].tolist() == pytest.approx([probs[k, 0]])
