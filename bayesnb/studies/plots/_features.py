"""Plots of features: contributions to a row's log odds, dependence on the class, and on each other given the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.core.fits._averaged import FeatureInclusion
from bayesnb.core.results._display_names import check_column_names
from bayesnb.inspection._dependence import Dependence
from bayesnb.inspection._explanation import Explanation
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.studies.plots._style import AGAINST, FOR, NEUTRAL, escape_dollars, heading, name_lines, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def contribution_bars(
    ax: Axes, explanation: Explanation, row: int = 0, of: int | str | None = None, count: int = 10
) -> Axes:
    """Draw the contributions to a prediction: class prior, strongest features, all others combined, and their sum.

    Bars to the right are evidence for the class, hatched bars to the left against it. Whiskers are credible intervals,
    if the explanation has them. Infinite bars are drawn longer than all others, and marked.

    Args:
        ax: The axes to draw on.
        explanation: The result of ``explain``.
        row: The index of one of its rows.
        of: A class by number or name; by default the most probable one besides the class it is compared with.
        count: The maximum number of features; the others are one bar.

    Raises:
        ValueError: if there is no such class.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> explanation = nb.explain(post, [[1, 1]], feature_names=["cough", "fever"])
        >>> ax = nb.plots.contribution_bars(Figure().subplots(), explanation)
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['class prior', 'cough = 1', 'fever = 1', 'log odds']
    """
    classes = explanation.class_names
    parts = [*explanation.parts(row, count, of), explanation.total(row, of)]
    nats, low, high = (np.array([getattr(part, name) for part in parts]) for name in ("log_odds", "low", "high"))
    longest = 1.25 * np.abs(nats[np.isfinite(nats)]).max(initial=0.8)
    places = np.arange(len(parts), dtype=float)
    places[-1] += 0.4  # separate the sum from its parts
    features = range(1, 1 + len(explanation.top(row, count, of)))
    colours = [(FOR if x > 0 else AGAINST) if i in features else NEUTRAL for i, x in enumerate(nats)]
    _draw_bars(ax, places, np.clip(nats, -longest, longest), colours, nats > 0, nats)
    finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(nats)
    ax.hlines(places[finite], low[finite], high[finite], color="black", linewidth=1)
    for end in (low[finite], high[finite]):
        ax.plot(end, places[finite], linestyle="none", marker="|", color="black", markersize=6)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.axhline(places[-1] - 0.7, color="0.6", linewidth=0.8)
    ax.margins(x=0.08)
    ax.set_xlabel("log odds [nats]")
    ax.set_title(heading(classes[explanation.of_row(row, of)], classes[explanation.against]), fontsize=10)
    return name_lines(ax, places, [part.label for part in parts])


def inclusion_bars(
    ax: Axes,
    inclusion: FeatureInclusion,
    feature_names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    count: int = 20,
) -> Axes:
    """Draw each feature's probability of depending on the class, the largest on top, next to its log Bayes factor.

    Args:
        ax: The axes to draw on.
        inclusion: The result of ``feature_inclusion``.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.
        count: The maximum number of features.

    Raises:
        ValueError: unless there is a name for each feature.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> X, y = [[0, 0], [0, 1], [0, 0], [1, 1], [1, 0], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> inclusion = nb.feature_inclusion(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> ax = nb.plots.inclusion_bars(Figure().subplots(), inclusion, ["fever", "cough"])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['fever', 'cough']
    """
    probability, factor = (part if isinstance(part, Mapping) else {"x": part} for part in inclusion)
    names = _all_names({block: len(part) for block, part in probability.items()}, feature_names)
    chance, evidence = (np.concatenate([np.asarray(part) for part in by.values()]) for by in (probability, factor))
    order = np.argsort(-evidence, kind="stable")[:count]
    places, depends = np.arange(len(order)), chance[order] >= 0.5
    _draw_bars(ax, places, chance[order], [FOR if yes else AGAINST for yes in depends], depends, evidence[order])
    ax.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
    ax.set(xlim=(0, 1), xlabel="P(depends on the class)")
    ax.set_title("log Bayes factor [nats]", fontsize=8, loc="right")
    return name_lines(ax, places, [names[f] for f in order])


def dependence(
    ax: Axes,
    pairs: Dependence | ForestPosterior,
    strong: float = limits.STRONG_DEPENDENCE,
    *,
    feature_names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    least: float = 0.2,
) -> Axes:
    """Draw which columns depend on each other given the class: the evidence of all pairs, or the edges of forests.

    The evidence is a matrix, below its diagonal. Shades are the log Bayes factor per row, in nats: with many rows the
    mutual information, but white for columns that are independent, even if they are nearly unique; those have a star.
    They are proportional to the square root of the nats, as pairs differ by orders of magnitude.

    Forests are a graph, with an arrowhead where one direction of an edge is twice as probable as the other.

    Args:
        ax: The axes to draw on.
        pairs: The result of `bayesnb.dependence`, or of `bayesnb.fit_forests`.
        strong: A dot marks shaded pairs whose log Bayes factor is above this.
        feature_names: D names, or a dict of them by block; for forests.
        least: The smallest probability, of both directions together, of an edge that is drawn.

    Raises:
        ValueError: unless there is a name for each feature.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> X, y = [[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 5, [0, 1, 0, 1] * 5
        >>> ax = nb.plots.dependence(Figure().subplots(), nb.dependence(X, y))
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['1', '2']
    """
    if isinstance(pairs, ForestPosterior):
        return draw_edges(
            ax, np.asarray(pairs.edge_probs), _all_names(dict(pairs.layout.features), feature_names), least
        )
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import PowerNorm

    size = len(pairs.names)
    below = np.tri(size, k=-1, dtype=bool)
    per_row = pairs.evidence_per_row
    nats = np.ma.masked_array(per_row, ~below)
    norm = PowerNorm(0.5, 0.0, max(float(nats.max()), 1e-3))
    edges = np.where(below, "0.85", "none").ravel()
    shades = ax.pcolormesh(nats, cmap="Greys", norm=norm, edgecolors=edges, linewidth=0.4)
    rows, columns = np.nonzero(below & np.asarray(per_row > 0) & np.asarray(pairs.log_bayes_factor > strong))
    colours = np.where(np.asarray(norm(per_row[rows, columns])) > 0.5, "white", "black")
    middles, width = np.stack([columns, rows], axis=1) + 0.5, min(0.3, 0.03 * size)
    ax.add_collection(
        EllipseCollection(width, width, 0, units="x", offsets=middles, offset_transform=ax.transData, color=colours)
    )
    ax.set(xlim=(0, size - 1), ylim=(size, 1), aspect="equal")
    stars = [" *" if place in pairs.nearly_unique else "" for place in range(size)]
    names = [escape_dollars(name) + star for name, star in zip(pairs.names, stars, strict=True)]
    fontsize = float(np.clip(240 / size, 6, 9))
    ax.set_xticks(np.arange(size - 1) + 0.5, names[:-1], rotation=90, fontsize=fontsize)
    ax.set_yticks(np.arange(1, size) + 0.5, names[1:], fontsize=fontsize)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"dot: log Bayes factor above {strong:g}{'; *: nearly unique' if any(stars) else ''}", fontsize=9)
    ax.figure.colorbar(shades, ax=ax, label="log Bayes factor per row (nats)", shrink=0.6)
    return ax


def _draw_bars(ax: Axes, places: Array, widths: Array, colours: Sequence[str], plain: Array, numbers: Array) -> None:
    """Draw horizontal bars, hatched unless ``plain``, with numbers to the right of the axes."""
    hatches = ["" if one else "////" for one in plain]
    ax.barh(places, widths, 0.72, color=colours, hatch=hatches, edgecolor="white", linewidth=0)
    for place, value in zip(places, numbers, strict=True):
        ax.text(1.01, place, _format_signed(value), transform=ax.get_yaxis_transform(), va="center", fontsize=8)


def _all_names(sizes: Mapping[str, int | None], given: Any) -> list[str]:
    """The names of the features of all blocks; by default a block of one feature has the name of its block."""
    named = check_column_names(given, {block: size or 0 for block, size in sizes.items()})
    known = given if isinstance(given, Mapping) else () if given is None else ("x",)
    alone = {block: (block,) for block, size in sizes.items() if size == 1 and block not in known}
    return [name for names in (named | alone).values() for name in names]


def _format_signed(value: float) -> str:
    if np.isinf(value):
        return "+∞" if value > 0 else "−∞"
    return (f"{value:+.3g}" if abs(value) < 1000 else f"{value:+,.0f}").replace("-", "−")


def draw_edges(ax: Axes, edge_probs: Array, names: Sequence[str], least: float) -> Axes:
    """Draw edges of either direction with a probability of ``least`` in all, and the features that have any.

    Lines are as wide and dark as the edge is probable, dashed below even odds; features that belong together stand next
    to each other.
    """
    either = edge_probs + edge_probs.T
    shown = (either >= least).any(axis=1)
    order = _neighbours_first(either)
    order = order[shown[order]]
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(order)) / max(len(order), 1)
    place = dict(zip(order.tolist(), np.stack([np.cos(angle), np.sin(angle)], axis=1), strict=True))
    for i, j in zip(*np.nonzero(np.triu(either >= least, 1)), strict=True):
        _draw_edge(ax, place[i], place[j], edge_probs[i, j], edge_probs[j, i])
    level = len(order) <= limits.MOST_LEVEL_NAMES
    fontsize = float(np.clip(300 / max(len(order), 1), 5, 9))
    for at, feature in zip(angle, order.tolist(), strict=True):
        x, y = place[feature]
        ax.plot(x, y, marker="o", markersize=5, color="black", zorder=3)
        side = "left" if x >= -1e-9 else "right"
        turn = 0.0 if level else np.degrees(at) + (0 if side == "left" else 180)
        if level and abs(x) < 0.1:  # above or below the circle
            side = "center"
        ax.text(
            1.08 * x, (1.12 if level else 1.08) * y, shorten(names[feature]), rotation=turn, rotation_mode="anchor",
            fontsize=fontsize, ha=side, va="center",
        )  # fmt: skip
    ax.set(xlim=(-2.0, 2.0), ylim=(-1.3, 1.3) if level else (-2.0, 2.0), aspect="equal")
    ax.axis("off")
    left = len(names) - len(order)
    rest = f"; features without any: {left}" if left else ""
    ax.set_title(f"edges with probability ≥ {least:g}{rest}", fontsize=9, pad=18)
    return ax


def _draw_edge(ax: Axes, start: Array, end: Array, forward: float, backward: float) -> None:
    probability = forward + backward
    if backward > forward:
        start, end, forward = end, start, backward
    one_way = 3.0 * forward >= 2.0 * probability  # then the likelier direction has an arrowhead
    step = 0.04 * (end - start) / np.hypot(*(end - start))  # the room between a feature and the lines at it
    style = {
        "arrowstyle": "-|>" if one_way else "-", "linewidth": 0.5 + 2.0 * probability, "mutation_scale": 7,
        "color": FOR if probability >= 0.5 else AGAINST, "alpha": 0.3 + 0.7 * min(probability, 1.0),
        "linestyle": "-" if probability >= 0.5 else "--", "shrinkA": 0, "shrinkB": 0,
    }  # fmt: skip
    ax.annotate("", xy=tuple(end - step), xytext=tuple(start + step), arrowprops=style)


def _neighbours_first(either: Array) -> Array:
    """An order of the features in which those that belong together are neighbours, by their average linkage."""
    if len(either) < 2:
        return np.arange(len(either))
    apart = np.maximum(1.0 - either, 0.0)[np.triu_indices(len(either), 1)]
    return leaves_list(linkage(apart, "average"))
