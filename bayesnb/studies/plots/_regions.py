"""A plot of the decision regions of two features: the regions in which each class is the most probable one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array, fill_masked, without_mask
from bayesnb.compute.arrays._typing import FeatureNames, LabelsLike, Rows
from bayesnb.core.results import _display_names as names
from bayesnb.core.results._classifier import Classifier
from bayesnb.studies.plots._nomograms import complete_rows
from bayesnb.studies.plots._parameters import require_block
from bayesnb.studies.plots._style import MARKERS, class_colour, escape_dollars, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def decision_regions(
    ax: Axes,
    fit: Classifier,
    X: Rows,
    y: LabelsLike | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    block: str | None = None,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
    level: float = 0.95,
    resolution: int = 200,
) -> Axes:
    """Draw the most probable class over the plane of two features, and its probability.

    Fainter shades are less certain; solid lines separate the classes, and beyond the dashed line the probability is
    above ``level``. All other features are missing, which marginalises them: the plot equals that of a fit to these two
    columns alone. Arguments not listed are as in ``class_densities``.

    Args:
        X: The block's rows [N, D]: the points, and the range of the plot.
        y: Their labels [N], integers 0..K-1; None to draw no points.
        columns: The two columns, horizontal and vertical.
        feature_names: Names of the block's columns.
        level: The probability beyond the dashed line.
        resolution: The number of grid points along each axis.

    Raises:
        ValueError: if there is no such block or columns, or the names do not fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> X, y = [[0.0, 0.0], [1.0, 1.0], [2.0, 1.5], [5.0, 4.0], [6.0, 6.0], [5.5, 7.0]], [0, 0, 0, 1, 1, 1]
        >>> fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)
        >>> names = ["width", "height"]
        >>> ax = nb.plots.decision_regions(Figure().subplots(), fit, X, y, resolution=20, feature_names=names)
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('width', 'height')
    """
    from matplotlib.colors import to_rgb

    block = require_block(fit, block)
    X = np.asarray(fill_masked(X), float)
    if len(set(columns)) != 2 or X.ndim != 2 or not all(0 <= d < X.shape[1] for d in columns):
        raise ValueError(
            f"columns are two different ones of the block's rows [N, D], got {columns!r} of shape {X.shape}"
        )
    points = X[:, list(columns)]
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    across, up = np.linspace(low - margin, high + margin, resolution, axis=1)
    rows = np.full((resolution**2, X.shape[1]), np.nan)  # all other columns are missing
    rows[:, list(columns)] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    probs = np.asarray(fit.predict_proba(complete_rows(fit, len(rows), {block: rows})))
    probs = probs.reshape(resolution, resolution, -1)  # [vertical, horizontal, K]
    num_classes = probs.shape[2]
    classes = names.check_class_names(class_names, num_classes)
    sizes = dict.fromkeys(fit.model.families, 1) | {block: X.shape[1]}
    feature_names = None if feature_names is None else {block: feature_names}
    labels = names.check_column_names(feature_names, sizes)[block]
    ends = (across[0], across[-1], up[0], up[-1])
    best, guess = probs.max(axis=2), 1 / num_classes
    sure = (best - guess) / (1 - guess) if num_classes > 1 else np.ones(best.shape)
    colours = np.array([to_rgb(class_colour(k)) for k in range(num_classes)])[probs.argmax(axis=2)]
    shades = 1 - (0.09 + 0.51 * sure[:, :, None]) * (1 - colours)  # with more white where less is sure
    ax.imshow(shades, extent=ends, origin="lower", aspect="auto", interpolation="bilinear", zorder=0)
    for k in range(num_classes):
        others = np.delete(probs, k, axis=2).max(axis=2, initial=0.0)
        if (probs[:, :, k] > others).any() and (probs[:, :, k] < others).any():
            ax.contour(across, up, probs[:, :, k] - others, levels=[0.0], colors="black", linewidths=1.2)
    if best.min() < level < best.max():
        ax.contour(across, up, best, levels=[level], colors="black", linewidths=0.8, linestyles="dashed")
    if y is not None:
        _draw_points(ax, points, np.asarray(without_mask("y", y)), classes)
    if y is None or num_classes > limits.MOST_LEGEND:
        _name_regions(ax, probs, across, up, classes)
    ax.set(xlim=ends[:2], ylim=ends[2:], xlabel=shorten(labels[columns[0]]), ylabel=shorten(labels[columns[1]]))
    ax.set_title(f"dashed: probability {level:g}", fontsize=8, loc="right")
    return ax


def _draw_points(ax: Axes, points: Array, y: Array, classes: tuple[str, ...]) -> None:
    for k in np.unique(y).tolist():
        marker = MARKERS[k % len(MARKERS)]
        style: Mapping[str, Any] = {"marker": marker, "s": 26, "color": class_colour(k), "edgecolors": "white"}
        ax.scatter(*points[y == k].T, linewidths=0.6, label=shorten(classes[k]), zorder=3, **style)
    beside: Any = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(classes) > limits.MOST_LEGEND else {}
    ax.legend(fontsize=8, framealpha=0.9, **beside)


def _name_regions(ax: Axes, probs: Array, across: Array, up: Array, classes: tuple[str, ...]) -> None:
    best = probs.argmax(axis=2)
    for k, name in enumerate(classes):
        rows, columns = (best == k).nonzero()
        if len(rows):
            middle = np.median(rows), np.median(columns)
            place = np.argmin((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2)
            box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
            where = across[columns[place]], up[rows[place]]
            ax.text(*where, escape_dollars(name), ha="center", va="center", fontsize=9, bbox=box, zorder=4)
