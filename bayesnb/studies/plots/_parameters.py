"""Plots of a fit's parameters: the distribution of a feature in each class, and parameters with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import allow_promotion, to_double, to_host
from bayesnb.compute.arrays._typing import Array, FeatureNames
from bayesnb.compute.primitives._codes import find_bins
from bayesnb.core.families import (
    Binomial,
    Categorical,
    Histogram,
    Hurdle,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Transformed,
)
from bayesnb.core.families._base import Params
from bayesnb.core.families._views import generative
from bayesnb.core.families.parts._bins import log_density_inside
from bayesnb.core.families.priors import _segments as segments
from bayesnb.core.results import _display_names as names
from bayesnb.core.results._classifier import Classifier, PointEstimate
from bayesnb.core.results._combine import has_word_terms
from bayesnb.core.results._intervals import tails
from bayesnb.inspection._arviz import site_labels
from bayesnb.inspection._compare_evidence import is_continuous
from bayesnb.studies.plots._style import class_colour, class_hatch, class_line, name_lines, shorten, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesnb.core.model._naive_bayes import NaiveBayes


def class_densities(
    ax: Axes,
    fit: Classifier,
    column: int = 0,
    *,
    block: str | None = None,
    key: Array | None = None,
    level: float = 0.9,
    num_draws: int = 500,
    class_names: Iterable[object] | None = None,
    feature_name: str | None = None,
) -> Axes:
    """Draw p(x_d | y = k, theta) of one feature for each class: its mean over theta, and equal-tailed credible bands.

    Measurements are drawn as curves with a band; counts and categories as bars with whiskers, or as lines if there are
    many. A word of a Multinomial block is one bar per class, its probability. For a column of a MultivariateNormal
    block the marginal is drawn. The mean over many draws of theta approaches the exact predictive.

    Args:
        ax: The axes to draw on.
        fit: A fit with parameters; one without uncertainty has no bands.
        column: The index of the column in its block.
        block: The block; required if the model has several.
        key: A ``jax.random.key``; not needed for a point estimate.
        level: The probability inside a band.
        num_draws: The number of draws of the parameters.
        class_names: K names; 0..K-1 if not given.
        feature_name: The feature's name; ``x[3]`` if not given.

    Raises:
        ValueError: if there is no such column, a key is missing, or the names do not fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import jax, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> ax, key = Figure().subplots(), jax.random.key(0)
        >>> ax = nb.plots.class_densities(ax, post, key=key, num_draws=50, feature_name="fever")
        >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
        ('fever', ['0', '1'])
    """
    block = require_block(fit, block)
    num_columns = fit.columns()[block] or 0
    if not 0 <= column < num_columns:
        raise ValueError(f"column is a number below {num_columns}, got {column!r}")
    draws = sample_parameters(fit, key, num_draws)
    family, params = fit.model.families[block], fit.model.block_params(draws)[block]
    with jax.enable_x64(True), allow_promotion():
        values, density = to_host(cell_densities(generative(family), to_double(params), column))
    classes = names.check_class_names(class_names, density.shape[1])
    mean, (low, high) = density.mean(axis=0), np.quantile(density, tails(level), axis=0)
    name = shorten(f"{block}[{column}]" if feature_name is None else feature_name)
    if is_continuous(family) or mean.size > limits.MOST_BARS:
        step: dict[str, Any] = {} if is_continuous(family) else {"step": "mid"}
        spacing = max(len(values) // 10, 1)  # so that markers do not overlap
        for k, label in enumerate(classes):
            ax.fill_between(values, low[k], high[k], color=class_colour(k), alpha=0.22, linewidth=0, **step)
            style: dict[str, Any] = {**class_line(k), "markersize": 4, "linewidth": 1.4}
            style |= {"markevery": (k * len(values) // (10 * len(classes)), spacing)}
            style |= {"drawstyle": "steps-mid" if step else "default"}
            ax.plot(values, mean[k], label=shorten(label), **style)
    else:
        width = 0.84 / len(classes)
        for k, label in enumerate(classes):
            places = np.arange(len(values)) + (k - (len(classes) - 1) / 2) * width
            style = {"color": class_colour(k), "hatch": class_hatch(k), "edgecolor": "white", "linewidth": 0}
            ax.bar(places, mean[k], width, label=shorten(label), **style)
            if len(density) > 1:
                ax.vlines(places, low[k], high[k], color="black", linewidth=1)
        ticks = [name] if has_word_terms(family) else [f"{value:g}" for value in values]
        ax.set_xticks(np.arange(len(values)), ticks)
    if not has_word_terms(family):
        ax.set_xlabel(name)
    ax.set_ylabel("density" if is_continuous(family) else "probability")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8, frameon=False, ncols=1 + len(classes) // 6)
    return tidy(ax)


def forest(
    ax: Axes,
    fit: Classifier,
    site: str,
    *,
    key: Array | None = None,
    level: float = 0.9,
    num_draws: int = 1000,
    count: int = 20,
    columns: Sequence[int] | None = None,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
) -> Axes:
    """Draw the mean and the equal-tailed credible interval of each parameter of a site, the classes side by side.

    Each feature, or each category of a feature, is one line of the plot. If there are more than ``count`` lines, those
    whose class means differ most, in units of their standard deviations, are shown in column order. Draw columns of
    different units in separate plots, or standardise them before the fit. Arguments not listed are as in
    ``class_densities``.

    Args:
        site: The name of a site, such as ``x_loc`` or ``class_probs``.
        count: The maximum number of lines.
        columns: The indices of the lines to show, instead of ``count``.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.

    Raises:
        ValueError: if there is no such site or line, a key is missing, or the names do not fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import jax, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> ax, key = Figure().subplots(), jax.random.key(0)
        >>> ax = nb.plots.forest(ax, post, "x_probs", key=key, num_draws=50, feature_names=["cough", "fever"])
        >>> ax.get_xlabel(), [label.get_text() for label in ax.get_yticklabels()]
        ('x_probs: mean, 90 % interval', ['cough', 'fever'])
    """
    draws = sample_parameters(fit, key, num_draws)
    own = _by_own_site(fit.model, draws, site)
    if not own:
        found = ", ".join(name for name in draws if _by_own_site(fit.model, draws, name))
        raise ValueError(f"site is one of {found}, got {site!r}")
    classes = names.check_class_names(class_names, fit.model.class_probs_of(draws).shape[1])
    if "class_probs" in own:  # each class is a line of its own
        values, lines, classes = own["class_probs"][:, None], classes, ("",)
    else:
        parts = [_lines(fit, name, value, feature_names) for name, value in own.items()]
        values = np.concatenate([value for value, _ in parts], axis=-1)
        lines = tuple(line for _, some in parts for line in some)
        if values.shape[1] == 1 < len(classes):
            classes = ("all classes",)
    # a recognised program may have one site per class or per column
    drawn = np.asarray(~np.isnan(values).all(axis=(0, 1)))
    values, lines = values[..., drawn], tuple(line for line, seen in zip(lines, drawn, strict=True) if seen)
    mean, (low, high) = values.mean(axis=0), np.quantile(values, tails(level), axis=0)
    order = np.arange(len(lines)) if columns is None else np.asarray(columns)
    if order.ndim != 1 or order.dtype.kind not in "iu" or not ((order >= 0) & (order < len(lines))).all():
        raise ValueError(f"columns are indices of lines, integers from 0 to {len(lines) - 1}, got {columns!r}")
    if columns is None and len(lines) > count:
        spread = np.sqrt(values.var(axis=0).mean(axis=0))
        order = np.sort(np.argsort(-np.ptp(mean, axis=0) / np.maximum(spread, 1e-300), kind="stable")[:count])
    for k, name in enumerate(classes):
        if np.isnan(mean[k]).all():
            continue
        places = np.arange(len(order)) + (k - (len(classes) - 1) / 2) * 0.8 / len(classes)
        style = {**class_line(k), "linestyle": "none", "markersize": 4 if len(classes) > 4 else 5}
        ax.hlines(places, low[k, order], high[k, order], color=class_colour(k), linewidth=1.4)
        ax.plot(mean[k, order], places, markeredgecolor="white", markeredgewidth=0.5, label=shorten(name), **style)
    for line in np.arange(1, len(order)) - 0.5:
        ax.axhline(line, color="0.9", linewidth=0.6, zorder=0)
    whisker = "" if isinstance(fit, PointEstimate) else f", {100 * level:.3g} % interval"
    ax.set_xlabel(f"{site}: mean{whisker}")
    if len(classes) > 1:
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return name_lines(ax, np.arange(len(order)), [lines[f] for f in order])


def require_block(fit: Classifier, block: str | None) -> str:
    """The name of a block, by default the only one. ValueError if there is no such block, or none given of several."""
    blocks = list(fit.model.families)
    if block is None and len(blocks) == 1:
        return blocks[0]
    if block not in blocks:
        raise ValueError(f"block is one of {', '.join(map(repr, blocks))}, got {block!r}")
    return block


def sample_parameters(fit: Classifier, key: Any, num_draws: int) -> dict[str, Array]:
    """Draws of the parameters by site, [S, ...]; a single one, S = 1, for a point estimate.

    ValueError if ``key`` is missing for a fit with uncertainty.
    """
    if isinstance(fit, PointEstimate):
        return {site: np.asarray(value)[None] for site, value in fit.params.items()}
    if key is None:
        raise ValueError("the parameters are drawn from their posterior: give key, such as key=jax.random.key(0)")
    params, which = to_host(fit.draws(key, num_draws))
    return {site: value[which] for site, value in params.items()}


def _by_own_site(model: NaiveBayes, draws: Mapping[str, Array], site: str) -> dict[str, Array]:
    """The site's draws, placed in the model's own sites that it fills; NaN where other sites fill them."""
    spelled = () if model.spelling is None else model.spelling.sites
    own = next((one for one in spelled if one.name == site), None)
    if own is None or model.spelling is None:
        known = {"class_probs", *(f"{b}_{s}" for b, f in model.families.items() for s in f.sites)}
        return {site: draws[site]} if site in known & draws.keys() else {}
    values = {one.name: np.full((len(draws[site]), *one.shape), np.nan) for one in model.spelling.canonical}
    flat = draws[site].reshape(len(draws[site]), -1)
    for part in sorted(own.parts, key=lambda part: part.link == "identity"):  # p after 1 - p, which it replaces
        values[part.source].reshape(len(flat), -1)[:, part.taken.values] = part.placed.of(flat)
    return {name: value for name, value in values.items() if name in own.sources}


def _lines(fit: Classifier, site: str, draws: Array, given: Any) -> tuple[Array, tuple[str, ...]]:
    """Draws [S, K, L], or [S, 1, L] if classes share the parameters, and the names of the L lines."""
    block, family = next((b, f) for b, f in fit.model.families.items() if site in {f"{b}_{s}" for s in f.sites})
    sizes = {name: int(size or 0) for name, size in fit.columns().items()}
    columns = names.check_column_names(given, sizes)[block]
    short = site.removeprefix(f"{block}_")
    if short in family.common_sites:
        draws = draws[:, None]
    return draws.reshape(*draws.shape[:2], -1), site_labels(family, short, columns)


FAR = 3.5
"""How far a plotted density extends beyond the classes' means, in standard deviations."""

POINTS = 301
"""The number of points on a plotted density."""


@singledispatch
def cell_densities(family: Any, params: Params, column: int) -> tuple[Array, Array]:
    """Values [V] of a column and their densities or probabilities [S, K, V], for draws of the parameters [S, K, D]."""
    distribution = cell_distribution(family, params, column)
    if not distribution.support.is_discrete and not np.all(distribution.variance):
        raise ValueError(f"column {column} is constant in the fitted rows, so it has no density: choose another")
    values = _plotted_values(distribution)
    return values, jnp.exp(distribution.log_prob(values[None, None]))


@singledispatch
def cell_distribution(family: Any, params: Params, column: int) -> dist.Distribution:
    """The distribution of a column's cells under every draw, [S, K, 1]."""
    return family.likelihood({site: _at(family, site, value, column) for site, value in params.items()})


def _at(family: Any, site: str, value: Array, column: int) -> Array:
    at = jnp.asarray(value)[..., column, None]
    return at[:, None] if site in family.common_sites else at


def _plotted_values(distribution: dist.Distribution) -> Array:
    """The values [V] at which a plot shows the distributions [S, K, 1] of one column."""
    if distribution.has_enumerate_support:
        return np.asarray(distribution.enumerate_support(expand=False)).ravel()
    mean, variance = np.asarray(distribution.mean), np.asarray(distribution.variance)
    if distribution.support.is_discrete:
        most, width = mean.mean(axis=0).max(), np.sqrt(variance.mean(axis=0).max())
        return np.arange(int(most + FAR * width) + 2)
    middle, far = mean.mean(axis=0), FAR * np.sqrt(np.median(variance, axis=0))
    low, high = (middle - far).min(), (middle + far).max()
    least = float(getattr(distribution.support, "lower_bound", -np.inf))
    return np.linspace(max(low, least + (high - least) / POINTS) if np.isfinite(least) else low, high, POINTS)


@cell_distribution.register(Binomial)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    # if the totals come with the rows, show the distribution of one trial
    total = np.broadcast_to(family.total_count or 1, family.num_columns)[column]
    return dist.Binomial(int(total), probs=_at(family, "probs", params["probs"], column))


@cell_densities.register(Categorical)
def _(family: Any, params: Params, column: int) -> tuple[Array, Array]:
    probs = params[f"probs_{column}"] if family.site_a_column else params["probs"][:, :, column]
    return np.arange(probs.shape[-1]), probs


@cell_densities.register(Multinomial)
def _(family: Any, params: Params, column: int) -> tuple[Array, Array]:
    del family
    return np.zeros(1), params["probs"][:, :, [column]]


@cell_distribution.register(Normal)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    loc, variance = (_at(family, site, params[site], column) for site in family.sites)
    return dist.Normal(loc, jnp.sqrt(variance))


@cell_distribution.register(NormalKnownVariance)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    variance = jnp.broadcast_to(family.variance, jnp.shape(params["loc"])[-2:])
    return dist.Normal(_at(family, "loc", params["loc"], column), jnp.sqrt(variance[:, column, None]))


@cell_distribution.register(MultivariateNormal)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    covariance = jnp.asarray(params["covariance"])[..., column, column, None]
    variance = covariance[:, None] if family.shared else covariance
    return dist.Normal(jnp.asarray(params["loc"])[..., column, None], jnp.sqrt(variance))


@cell_distribution.register(Transformed)
def _(family: Any, params: Params, column: int) -> dist.Distribution:
    return family.of_cells(cell_distribution(family.parts[0], params, column))


@cell_densities.register(Hurdle)
def _(family: Any, params: Params, column: int) -> tuple[Array, Array]:
    own, of_values = family.own(params)
    values, densities = cell_densities(family.parts[0], own, column)
    probs, points = of_values["probs"][:, :, column], [a is not None for a in family.at]
    values = np.append(values, np.array(family.at)[points].astype(float))
    tables = jnp.concatenate([densities * probs[..., -1:], probs[..., :-1][..., np.array(points)]], axis=-1)
    return np.sort(values), tables[..., np.argsort(values)]


@cell_densities.register(Histogram)
def _(family: Any, params: Params, column: int) -> tuple[Array, Array]:
    one = slice(column, column + 1)
    edges, points, mass = (np.asarray(table[0])[one] for table in (family.edges, family.atoms, family.mass))
    known = edges[np.isfinite(edges)]
    if not known.size:
        raise ValueError(f"column {column} is constant in the fitted rows, so it has no density: choose another")
    below, above = FAR * (np.diff(known)[[0, -1]] if known.size > 1 else np.ones(2))
    grid = np.linspace(known[0] - below, known[-1] + above, POINTS)
    values = np.unique(np.concatenate([grid, known, points[np.isfinite(points)]]))[:, None]
    draws = np.asarray(params["probs"])[:, :, one], np.asarray(params["cuts"])[:, None, one]
    probs = compute(segments.split, mass[None, None], *draws)[:, :, 0]
    inside = np.exp(log_density_inside(edges, points, values))
    return values[:, 0], probs[:, :, find_bins(values, edges)[:, 0]] * inside[None, None, :, 0]
