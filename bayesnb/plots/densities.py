"""Plot the distribution of one feature in each class, with bands for the uncertainty of its parameters."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.arrays.host_calls import at_once
from bayesnb.inspection import names
from bayesnb.plots.look import class_colour, class_hatch, class_line, shown, tidy
from bayesnb.plots.parameters import drawn
from bayesnb.results.classifier import Classifier
from bayesnb.results.intervals import require_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]

MOST_BARS = 60
"""Maximum number of bars, values times classes; above it lines are drawn."""


def class_densities(
    ax: "Axes",
    fit: Classifier,
    column: int = 0,
    *,
    block: str | None = None,
    key: Any = None,
    level: float = 0.9,
    num_draws: int = 500,
    class_names: Iterable[Any] | None = None,
    feature_name: str | None = None,
) -> "Axes":
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
    """
    blocks = list(fit.model.families)
    block = blocks[0] if block is None and len(blocks) == 1 else block
    if block not in blocks:
        raise ValueError(f"block is one of {', '.join(map(repr, blocks))}, got {block!r}")
    num_columns = fit.columns()[block] or 0
    if not 0 <= column < num_columns:
        raise ValueError(f"column is a number below {num_columns}, got {column!r}")
    require_level(level)
    draws = drawn(fit, key, num_draws)
    family, params = fit.model.families[block], fit.model.block_params(draws)[block]
    values, density = at_once(type(family).cell_densities, family, params, column)
    classes = names.class_names(class_names, density.shape[1])
    mean = density.mean(axis=0)
    low, high = np.quantile(density, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    name = f"{block}[{column}]" if feature_name is None else feature_name
    continuous = family.continuous
    if continuous or mean.size > MOST_BARS:
        _draw_lines(ax, values, mean, low, high, classes, step=not continuous)
    else:
        _draw_bars(ax, mean, low, high, classes, certain=len(density) == 1)
        ticks = [shown(name)] if family.has_word_terms else [f"{value:g}" for value in values]
        ax.set_xticks(np.arange(len(values)), ticks)
    if not family.has_word_terms:
        ax.set_xlabel(shown(name))
    ax.set_ylabel("density" if continuous else "probability")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8, frameon=False, ncols=1 + len(classes) // 6)
    return tidy(ax)


def _draw_lines(
    ax: "Axes", values: Array, mean: Array, low: Array, high: Array, classes: tuple[str, ...], step: bool
) -> None:
    shape: Any = {"step": "mid"} if step else {}
    for k, name in enumerate(classes):
        ax.fill_between(values, low[k], high[k], color=class_colour(k), alpha=0.22, linewidth=0, **shape)
        drawstyle: Any = "steps-mid" if step else "default"
        every = (k * len(values) // (10 * len(classes)), max(len(values) // 10, 1))  # so that markers do not overlap
        style = {**class_line(k), "markevery": every, "markersize": 4, "linewidth": 1.4, "drawstyle": drawstyle}
        ax.plot(values, mean[k], label=shown(name), **style)


def _draw_bars(ax: "Axes", mean: Array, low: Array, high: Array, classes: tuple[str, ...], certain: bool) -> None:
    width = 0.84 / len(classes)
    for k, name in enumerate(classes):
        places = np.arange(mean.shape[1]) + (k - (len(classes) - 1) / 2) * width
        style: Any = {"color": class_colour(k), "hatch": class_hatch(k), "edgecolor": "white", "linewidth": 0}
        ax.bar(places, mean[k], width, label=shown(name), **style)
        if not certain:
            ax.vlines(places, low[k], high[k], color="black", linewidth=1)
