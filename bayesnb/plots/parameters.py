"""Plot means and credible intervals of parameters, classes side by side."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.arrays.placement import to_host
from bayesnb.inspection import display_names as names
from bayesnb.plots.look import class_colour, class_line, shown, tidy
from bayesnb.results.classifier import Classifier, PointEstimate
from bayesnb.rows import arguments

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]


def forest(
    ax: "Axes",
    fit: Classifier,
    site: str,
    *,
    key: Any = None,
    level: float = 0.9,
    num_draws: int = 1000,
    count: int = 20,
    columns: Sequence[int] | None = None,
    class_names: Iterable[Any] | None = None,
    feature_names: Iterable[Any] | Mapping[str, Iterable[Any]] | None = None,
) -> "Axes":
    """Draw the mean and the equal-tailed credible interval of each parameter of a site, the classes side by side.

    Each feature, or each category of a feature, is one line of the plot. If there are more than ``count`` lines, those
    whose class means differ most, in units of their standard deviations, are shown in column order. Draw columns of
    different units in separate plots, or standardise them before the fit.

    Args:
        ax: The axes to draw on.
        fit: A fit with parameters; one without uncertainty has only points.
        site: The name of a site, such as ``x_loc`` or ``class_probs``.
        key: A ``jax.random.key``; not needed for a point estimate.
        level: The probability inside an interval.
        num_draws: The number of draws of the parameters.
        count: The maximum number of lines.
        columns: The indices of the lines to show, instead of ``count``.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.

    Raises:
        ValueError: if there is no such site, a key is missing, or the names do not fit.
    """
    draws = drawn(fit, key, num_draws)
    arguments.require_probability(level=level)
    if site not in draws or draws[site].ndim < 2:
        raise ValueError(f"site is one of {', '.join(draws)}, got {site!r}")
    classes = names.check_class_names(class_names, draws["class_probs"].shape[1])
    values, lines = _lines(fit, site, draws[site], feature_names)
    if site == "class_probs":  # each class is a line of its own
        lines, classes = classes, ("",)
    elif values.shape[1] == 1 < len(classes):
        classes = ("all classes",)
    mean, spread = values.mean(axis=0), values.std(axis=0)
    tails = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    order = np.arange(len(lines)) if columns is None else np.asarray(columns, int)
    if columns is None and len(lines) > count:
        apart = np.ptp(mean, axis=0) / np.maximum(np.sqrt(np.square(spread).mean(axis=0)), 1e-300)
        order = np.sort(np.argsort(-apart, kind="stable")[:count])
    for k, name in enumerate(classes):
        places = np.arange(len(order)) + (k - (len(classes) - 1) / 2) * 0.8 / len(classes)
        style = {**class_line(k), "linestyle": "none", "markersize": 4 if len(classes) > 4 else 5}
        ax.hlines(places, tails[0, k, order], tails[1, k, order], color=class_colour(k), linewidth=1.4)
        ax.plot(mean[k, order], places, markeredgecolor="white", markeredgewidth=0.5, label=shown(name), **style)
    ax.set_yticks(np.arange(len(order)), [shown(lines[f]) for f in order], fontsize=8)
    ax.set_ylim(len(order) - 0.4, -0.6)
    for line in np.arange(1, len(order)) - 0.5:
        ax.axhline(line, color="0.9", linewidth=0.6, zorder=0)
    whisker = "" if isinstance(fit, PointEstimate) else f", {100 * level:.3g} % interval"
    ax.set_xlabel(f"{site}: mean{whisker}")
    ax.tick_params(axis="y", length=0)
    if len(classes) > 1:
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    tidy(ax).grid(visible=False, axis="y")
    return ax


def drawn(fit: Classifier, key: Any, num_draws: int) -> dict[str, Array]:
    """Draws of the parameters by site, [S, ...]; a single one, S = 1, for a point estimate.

    Raises:
        ValueError: if ``key`` is missing for a fit with uncertainty.
    """
    if isinstance(fit, PointEstimate):
        return {site: np.asarray(value)[None] for site, value in fit.params.items()}
    if key is None:
        raise ValueError("the parameters are drawn from their posterior: give key, such as key=jax.random.key(0)")
    params, which = to_host(fit.draws(key, num_draws))
    return {site: value[which] for site, value in params.items()}


def _lines(fit: Classifier, site: str, draws: Array, given: Any) -> tuple[Array, tuple[str, ...]]:
    """Draws [S, K, L], or [S, 1, L] if classes share the parameters, and the names of the L lines."""
    if site == "class_probs":
        return draws[:, None], ("",)
    block, family = next((b, f) for b, f in fit.model.families.items() if site in {f"{b}_{s}" for s in f.sites})
    sizes = {name: int(size or 0) for name, size in fit.columns().items()}
    columns = names.check_column_names(fit.model, given, sizes)[block]
    short = site.removeprefix(f"{block}_")
    if short in family.common_sites:
        draws = draws[:, None]
    return draws.reshape(*draws.shape[:2], -1), family.site_labels(short, columns)
