"""The nomogram of a classifier: read off each feature's log odds, add them up, read off the probability.

Mozina, Demsar, Kattan and Zupan, Nomograms for visualization of naive Bayesian classifier (PKDD 2004). Their axis of
log odds ratios is the same up to a factor; here points are nats, and the sum is exact.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from bayesnb.inspection import names
from bayesnb.inspection.explain import explain
from bayesnb.plots.look import AGAINST, FOR, NEUTRAL, escaped, heading, shown
from bayesnb.plots.scales import Scale, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray[Any, Any]

FONTSIZE = 7.5
CHARACTER = 0.62
"""The width of a character in units of the font's size."""

SMALL = 0.03
"""Of the picture's width: a branch of a curve that is shorter is drawn with its neighbour."""

SURE = 7.0
"""Log odds that are shown of a sum that goes beyond them."""

FEWEST = 4.0
"""Log odds that the axis of sums spans."""

PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.005, 0.995)
"""Ticks, the more wanted first."""


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
    """Draw an axis for each feature on which a value stands at what it adds to the log odds, in nats.

    Read the value of each feature up to the scale on top; a feature that is unknown has 0. The sum is found on the axis
    below, which goes no further than the probabilities that can be told apart, and below it the probability, with the
    class prior in it: p(k | x) where there are two classes, else that among the two. Measurements whose contribution
    turns have the rising and the falling part above and below their line. The features drawn are those whose
    contributions differ most in the rows, and a measurement's range is that of 98 % of them.

    Args:
        ax: Where to draw; about .4 inches a feature.
        fit: What ``explain`` takes.
        X: Rows, the fitted ones for example.
        of: The class whose probability is read, a number or a name.
        against: The class that it is compared with.
        count: At most how many features. The others count as unknown, or as in ``row``.
        row: A row of X that is marked.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.
        value_names: Names of codes 0, 1, ..., by the name of the feature.

    Raises:
        ValueError: as ``explain``; where the classes are one, and where no finite axis can be drawn.
    """
    X = fit.encoded(X) if hasattr(fit, "encoded") else X
    fit, class_names, feature_names, value_names = names.known(fit, class_names, feature_names, value_names)
    told = explain(
        fit, X, against=against, class_names=class_names, feature_names=feature_names, value_names=value_names
    )
    k = names.number_of(of, told.class_names, "of")
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
    """Where labels fit beside each other: ``span`` nats are as wide as the axes."""

    def __init__(self, ax: "Axes", span: float) -> None:
        figure: Any = ax.figure.figure  # of a subfigure, too
        figure.draw_without_rendering()  # the layout knows the names by now
        points = ax.get_window_extent().width * 72 / figure.dpi
        left, right = ax.get_xlim()
        self.unit = (right - left) / points
        self.span = span

    def fits(self, place: float, label: str, taken: list[tuple[float, float]]) -> bool:
        """Takes the room of a label where there is any."""
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
    """A line with ticks, and the labels that fit, the first first; returns the others."""
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
    """The branches of a feature's curve, two on a line; labels of unordered values above where below is no room."""
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
    """What the marked row has: for the class, or against it."""
    _point(ax, place, y, FOR if place > 0 else AGAINST, "D")


def _point(ax: "Axes", place: float, y: float, colour: str, marker: str) -> None:
    ax.plot([place], [y], marker=marker, markersize=6, color=colour, markeredgecolor="black", zorder=4)


def _window(prior: float, low: float, high: float) -> tuple[float, float]:
    """The sums that are shown: those that can be reached, and tell probabilities apart; all such where few can be."""
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
    """The axis of sums, and below it that of probabilities; a mark at the row's, at the end where it lies beyond."""
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
