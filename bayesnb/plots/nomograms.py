"""Draw the nomogram of a classifier: read off each feature's log odds, add them up, read off the probability.

Mozina, Demsar, Kattan and Zupan, Nomograms for visualization of naive Bayesian classifier (PKDD 2004). Their axis of
log odds ratios is the same up to a factor; here the unit is nats, and the sum is exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from bayesnb.inspection import display_names as names
from bayesnb.inspection.explain import explain
from bayesnb.plots.look import AGAINST, FOR, NEUTRAL, escaped, heading, shown
from bayesnb.plots.scales import Scale, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]

FONTSIZE = 7.5
CHARACTER = 0.62
"""The width of a character relative to the font size."""

SMALL = 0.03
"""Branches of a curve shorter than this fraction of the width are merged with their neighbour."""

SURE = 7.0
"""The sum axis shows log odds of at most this magnitude."""

FEWEST = 4.0
"""Minimum span of the sum axis, in log odds."""

PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.005, 0.995)
"""Candidate ticks of the probability axis, in order of priority."""


def nomogram(
    ax: "Axes",
    fit: Any,
    X: Any,
    *,
    of: int | str = 1,
    against: int | str = 0,
    count: int = 8,
    row: int | None = None,
    class_names: Iterable[Any] | None = None,
    feature_names: Iterable[Any] | Mapping[str, Iterable[Any]] | None = None,
    value_names: Mapping[str, Sequence[Any]] | None = None,
) -> "Axes":
    """Draw an axis for each feature, with each value placed at its contribution to the log odds, in nats.

    Read each feature's contribution on the scale at the top; an unknown feature contributes 0. Find the total on the
    sum axis, which is limited to distinguishable probabilities, and read the probability below it, with the class prior
    included: p(k | x) for two classes, otherwise the probability among the two. If a measurement's contribution is not
    monotonic, its rising and falling branches are drawn above and below the line. The features drawn are those whose
    contributions vary most over the rows, and the axis of a measurement covers 98 % of the rows.

    Args:
        ax: The axes to draw on; about .4 inches per feature.
        fit: A fit that ``explain`` accepts.
        X: Rows, for example the fitted ones.
        of: The class whose probability is read, a number or a name.
        against: The class that it is compared with.
        count: The maximum number of features. The others count as unknown, or with their values in ``row``.
        row: The index of a row of X to mark.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.
        value_names: Names of the codes 0, 1, ..., by feature name.

    Raises:
        ValueError: as for ``explain``; also if both classes are the same, or no finite axis can be drawn.
    """
    X = fit.encoded(X) if hasattr(fit, "encoded") else X
    fit, class_names, feature_names, value_names = names.complete_names(fit, class_names, feature_names, value_names)
    told = explain(
        fit, X, against=against, class_names=class_names, feature_names=feature_names, value_names=value_names
    )
    k = names.class_index(of, told.class_names, "of")
    if k == told.against:
        raise ValueError(f"of and against are two classes, got {told.class_names[k]!r} for both")
    axes = scales(fit, told, k, count, row)
    given = {} if row is None else {f: float(told.contributions[row, k, f]) for f in axes}
    num_others = len(told.feature_names) - len(axes)
    others = 0.0 if row is None else float(np.delete(told.contributions[row, k], list(axes)).sum())
    ends = np.array([[scale.nats.min(), scale.nats.max()] for scale in axes.values()])
    low, high = min(ends.min(), others, 0.0), max(ends.max(), others, 0.0)
    margin = 0.04 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    shortest = SMALL * (high - low)
    lanes = {f: (len(scale.branches(shortest)) + 1) // 2 for f, scale in axes.items()}
    tops = dict(zip(axes, 1.2 + np.cumsum([0, *(1.0 + 0.8 * (n - 1) for n in lanes.values())]), strict=False))
    bottom = 1.2 + sum(1.0 + 0.8 * (n - 1) for n in lanes.values())
    labels = {0.0: "log odds [nats]"} | {tops[f]: shown(scale.name) for f, scale in axes.items()}
    if num_others:
        labels[bottom] = f"{num_others} other feature{'s' * (num_others > 1)}"
        bottom += 1.0
    alone = "" if len(told.class_names) == 2 else " of the two"
    labels |= {bottom: "sum [nats]", bottom + 1.2: f"P({shown(told.class_names[k])}){alone}"}
    ax.set_yticks(list(labels), list(labels.values()), fontsize=9)
    ax.set_ylim(bottom + 1.9, -0.8)
    ax.set_title(heading(told.class_names[k], told.class_names[told.against]), fontsize=10)
    ax.tick_params(length=0)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    room = _Room(ax, high - low)
    _draw_axis(ax, room, 0.0, _nice(low, high), [f"{t:g}" for t in _nice(low, high)], (low, high), above=True)
    ax.plot([0, 0], [0, bottom - 0.6], color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    for f, scale in axes.items():
        _draw_scale(ax, room, tops[f], scale, shortest, given.get(f), None if row is None else told.values[row, f])
    if num_others and row is not None:
        _mark(ax, others, bottom - 1.0)
    elif num_others:
        ax.text(0.0, bottom - 1.0, " unknown: 0", va="center", fontsize=FONTSIZE)
    window = _window(float(told.prior[k]), *(ends.sum(axis=0) + others))
    total = None if row is None else sum(given.values()) + others
    _draw_sum(ax, room, bottom, window, (low, high), float(told.prior[k]), total)
    return ax


class _Room:
    """Finds room for labels without overlap; ``span`` nats are as wide as the axes."""

    def __init__(self, ax: "Axes", span: float) -> None:
        figure: Any = ax.figure.figure  # the root figure, also from a subfigure
        figure.draw_without_rendering()  # compute the layout now that the tick labels are set
        points = ax.get_window_extent().width * 72 / figure.dpi
        left, right = ax.get_xlim()
        self.unit = (right - left) / points
        self.span = span

    def fits(self, place: float, label: str, taken: list[tuple[float, float]]) -> bool:
        """Reserve room for a label, and return whether there was enough."""
        half = (0.5 * CHARACTER * len(label) + 0.25) * FONTSIZE * self.unit
        if any(place - half < end and place + half > start for start, end in taken):
            return False
        taken.append((place - half, place + half))
        return True


def _nice(low: float, high: float) -> Array:
    from matplotlib.ticker import MaxNLocator

    ticks = np.asarray(MaxNLocator(9).tick_values(low, high))
    slack = 1e-9 * (high - low)
    return ticks[(ticks >= low - slack) & (ticks <= high + slack)]


def _draw_axis(
    ax: "Axes",
    room: _Room,
    y: float,
    places: Array,
    labels: Sequence[str],
    ends: tuple[float, float],
    *,
    above: bool = False,
    taken: list[tuple[float, float]] | None = None,
) -> list[int]:
    """Draw a line with ticks, and labels in order as far as they fit; return the indices of the others."""
    taken = [] if taken is None else taken
    side, va = (-1, "bottom") if above else (1, "top")
    ax.plot(ends, [y, y], color="black", linewidth=0.9)
    ax.vlines(places, y, y + 0.12 * side, color="black", linewidth=0.9)
    left = []
    for i, (place, label) in enumerate(zip(places, labels, strict=True)):
        if room.fits(place, label, taken):
            text = escaped(label.replace("-", "−"))
            ax.text(place, y + 0.16 * side, text, ha="center", va=va, fontsize=FONTSIZE)
        else:
            left.append(i)
    return left


def _draw_scale(
    ax: "Axes", room: _Room, top: float, scale: Scale, shortest: float, given: float | None, value: float | None
) -> None:
    """Draw the branches of a feature's curve, two per line; labels of unordered values go above if below is full."""
    mark = top
    for number, branch in enumerate(scale.branches(shortest)):
        y, above = top + 0.8 * (number // 2), bool(number % 2)
        ticks = [i for i in range(branch.start, branch.stop) if scale.labels[i]]
        nats = scale.nats[branch]
        ends = float(nats.min()), float(nats.max())
        places, labels = scale.nats[ticks], [scale.labels[i] for i in ticks]
        left = _draw_axis(ax, room, y, places, labels, ends, above=above)
        if not scale.ordered and left:
            _draw_axis(ax, room, y, places[left], [labels[i] for i in left], ends, above=True)
        if value is not None and scale.values[branch.start] <= value <= scale.values[branch.stop - 1]:
            mark = y
    if given is not None:
        _mark(ax, given, mark)


def _mark(ax: "Axes", place: float, y: float) -> None:
    """Mark a contribution of the marked row, coloured as evidence for or against the class."""
    _point(ax, place, y, FOR if place > 0 else AGAINST, "D")


def _point(ax: "Axes", place: float, y: float, colour: str, marker: str) -> None:
    ax.plot([place], [y], marker=marker, markersize=6, color=colour, markeredgecolor="black", zorder=4)


def _window(prior: float, low: float, high: float) -> tuple[float, float]:
    """The range of the sum axis: the reachable sums whose probabilities are distinguishable.

    If that range is too short, it is that of all distinguishable probabilities.
    """
    start, stop = max(low, -SURE - prior), min(high, SURE - prior)
    return (start, stop) if stop - start > FEWEST else (-SURE - prior, SURE - prior)


def _draw_sum(
    ax: "Axes",
    room: _Room,
    y: float,
    window: tuple[float, float],
    ends: tuple[float, float],
    prior: float,
    total: float | None,
) -> None:
    """Draw the sum axis, and the probability axis below it; mark the row's sum, at the end if it is out of range."""
    start, stop = window
    stretch = (ends[1] - ends[0]) / (stop - start)

    def place(sums: Any) -> Any:
        return ends[0] + (sums - start) * stretch

    sums = _nice(start, stop)
    _draw_axis(ax, room, y, place(sums), [f"{t:g}" for t in sums], ends)
    wanted = np.array([p for p in PROBABILITIES if start <= logit(p) - prior <= stop])
    _draw_axis(ax, room, y + 1.2, place(logit(wanted) - prior), [f"{p:g}" for p in wanted], ends)
    if total is None:
        return
    inside = float(np.clip(place(total), *ends))
    ax.plot([inside, inside], [y, y + 1.2], color="0.4", linewidth=0.8, linestyle="--", zorder=0)
    marker = "D" if inside == place(total) else "<" if total < start else ">"
    for height in (y, y + 1.2):
        _point(ax, inside, height, NEUTRAL, marker)
    text = f"  sum {total:.3g}, P = {expit(total + prior):.3g}  ".replace("-", "−")
    ax.text(inside, y + 0.75, text, ha="right" if inside > np.mean(ends) else "left", va="center", fontsize=FONTSIZE)
