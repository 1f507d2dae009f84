"""The nomogram of a classifier: read off each feature's log odds, add them up, read off the probability.

Mozina, Demsar, Kattan and Zupan, Nomograms for visualization of naive Bayesian classifier (PKDD 2004).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bayesnb.arrays.placement import Array
from bayesnb.arrays.typing import Estimator, FeatureNames, Table
from bayesnb.inspection import display_names as names
from bayesnb.inspection.explain import explain
from bayesnb.inspection.explanation import Explanation
from bayesnb.inspection.measures import is_continuous
from bayesnb.inspection.word_terms import has_word_terms
from bayesnb.plots.style import AGAINST, FOR, NEUTRAL, escape_dollars, heading, shorten
from bayesnb.results.classifier import Classifier
from bayesnb.results.estimators import unwrap_pipeline
from bayesnb.results.intervals import tails
from bayesnb.rows.packing import num_parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONTSIZE = 7.5
CHARACTER = 0.62
"""The width of a character relative to the font size."""

SMALL = 0.03
"""Branches of a curve shorter than this fraction of the width are merged with their neighbour."""

SURE = 7.0
"""The sum axis shows log odds of at most this magnitude."""

SHORTEST_SUM = 4.0
"""Minimum span of the sum axis, in log odds."""

PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.005, 0.995)
"""Candidate ticks of the probability axis, in order of priority."""

FEW_COUNTS = 12
"""Up to this many distinct counts are shown one by one."""

MIDDLE = 0.98
"""Fraction of the rows covered by a measurement's axis: outliers would compress all other values."""

CURVE_POINTS = 201
"""The number of points on a curve."""


def nomogram(
    ax: Axes,
    fit: Classifier | Estimator,
    X: Table,
    *,
    of: int | str = 1,
    against: int | str = 0,
    count: int = 8,
    row: int | None = None,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
    value_names: Mapping[str, Sequence[object]] | None = None,
) -> Axes:
    """Draw an axis for each feature, with each value placed at its contribution to the log odds, in nats.

    Read each feature's contribution on the scale at the top; an unknown feature contributes 0. Find the total on the
    sum axis, which is limited to distinguishable probabilities, and below it the probability with the class prior
    included: p(k | x) for two classes, otherwise that among the two. If a measurement's contribution is not monotonic,
    its rising and falling branches are drawn above and below the line. The features drawn are those whose contributions
    vary most over the rows, and the axis of a measurement covers 98 % of the rows.

    Args:
        ax: The axes to draw on; about .4 inches per feature.
        fit: A fit that ``explain`` accepts; names as there.
        X: Rows, for example the fitted ones.
        of: The class whose probability is read, a number or a name.
        against: The class that it is compared with.
        count: The maximum number of features. The others count as unknown, or with their values in ``row``.
        row: The index of a row of X to mark.

    Raises:
        ValueError: as for ``explain``; also if both classes are the same, or no finite axis can be drawn.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> names = {"feature_names": ["cough", "fever"], "class_names": ["well", "ill"]}
        >>> ax = nb.plots.nomogram(Figure().subplots(), post, X, **names)
        >>> ax.get_title()
        'ill against well'
    """
    explanation = explain(
        fit, X, against=against, class_names=class_names, feature_names=feature_names, value_names=value_names
    )
    classes, other = explanation.class_names, explanation.against
    k = names.class_index(of, classes, "of")
    if k == other:
        raise ValueError(f"of and against are two classes, got {classes[k]!r} for both")
    axes = feature_scales(unwrap_pipeline(fit)[0], explanation, k, count, row)
    nats = None if row is None else explanation.contributions[row, k]
    others = 0.0 if nats is None else float(np.delete(nats, list(axes)).sum())
    num_others = len(explanation.feature_names) - len(axes)
    ends = np.array([[scale.nats.min(), scale.nats.max()] for scale in axes.values()])
    low, high = min(ends.min(), others, 0.0), max(ends.max(), others, 0.0)
    shortest = SMALL * (high - low)
    labels, tops, bottom = {0.0: "log odds [nats]"}, {}, 1.2
    for f, scale in axes.items():
        tops[f] = bottom
        labels[bottom] = shorten(scale.name)
        bottom += 1.0 + 0.8 * ((len(scale.branches(shortest)) - 1) // 2)
    if num_others:
        labels[bottom] = f"{num_others} other feature{'s' * (num_others > 1)}"
        bottom += 1.0
    alone = "" if len(classes) == 2 else " of the two"
    labels |= {bottom: "sum [nats]", bottom + 1.2: f"P({shorten(classes[k])}){alone}"}
    margin = 0.04 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    ax.set_yticks(list(labels), list(labels.values()), fontsize=9)
    ax.set_ylim(bottom + 1.9, -0.8)
    ax.set_title(heading(classes[k], classes[other]), fontsize=10)
    ax.tick_params(length=0)
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    paper = _Paper(ax)
    paper.draw_axis(0.0, ticks_between(low, high, 9), (low, high), above=True)
    ax.plot([0, 0], [0, bottom - 0.6], color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    for f, scale in axes.items():
        height = paper.draw_scale(tops[f], scale, shortest, None if row is None else float(explanation.values[row, f]))
        if nats is not None:
            paper.mark(float(nats[f]), height)
    if num_others and nats is not None:
        paper.mark(others, bottom - 1.0)
    elif num_others:
        ax.text(0.0, bottom - 1.0, " unknown: 0", va="center", fontsize=FONTSIZE)
    prior = float(explanation.prior[k])
    # the reachable sums whose probabilities are distinguishable; all distinguishable ones if that range is short
    least, most = ends.sum(axis=0) + others
    start, stop = max(least, -SURE - prior), min(most, SURE - prior)
    window = (start, stop) if stop - start > SHORTEST_SUM else (-SURE - prior, SURE - prior)
    paper.draw_sum(bottom, window, (low, high), prior, None if nats is None else float(nats.sum()))
    return ax


class _Paper:
    """The axes with their tick labels set, so that the width of a character is known."""

    def __init__(self, ax: Axes) -> None:
        figure: Any = ax.figure.figure  # the root figure, also from a subfigure
        figure.draw_without_rendering()  # compute the layout
        points = ax.get_window_extent().width * 72 / figure.dpi
        left, right = ax.get_xlim()
        self.ax = ax
        self.unit = FONTSIZE * (right - left) / points

    def draw_axis(
        self, y: float, places: Array, ends: tuple[float, float], labels: Any = None, *, above: bool = False
    ) -> list[int]:
        """Draw a line with ticks, and labels, by default the places, as far as they fit: the indices of the others."""
        labels = [f"{place:g}" for place in places] if labels is None else labels
        side, va = (-1, "bottom") if above else (1, "top")
        self.ax.plot(ends, [y, y], color="black", linewidth=0.9)
        self.ax.vlines(places, y, y + 0.12 * side, color="black", linewidth=0.9)
        taken: list[tuple[float, float]] = []
        left = []
        for i, (place, label) in enumerate(zip(places, labels, strict=True)):
            half = (0.5 * CHARACTER * len(label) + 0.25) * self.unit
            if any(place - half < end and place + half > start for start, end in taken):
                left.append(i)
                continue
            taken.append((place - half, place + half))
            text = escape_dollars(label.replace("-", "−"))
            self.ax.text(place, y + 0.16 * side, text, ha="center", va=va, fontsize=FONTSIZE)
        return left

    def draw_scale(self, top: float, scale: Scale, shortest: float, value: float | None) -> float:
        """Draw a curve's branches, two per line, and return the height of the one with ``value``."""
        height = top
        for number, branch in enumerate(scale.branches(shortest)):
            y, above = top + 0.8 * (number // 2), bool(number % 2)
            ticks = [i for i in range(branch.start, branch.stop) if scale.labels[i]]
            nats = scale.nats[branch]
            ends = float(nats.min()), float(nats.max())
            places, labels = scale.nats[ticks], [scale.labels[i] for i in ticks]
            left = self.draw_axis(y, places, ends, labels, above=above)
            # labels of unordered values that do not fit below the line go above it
            if not scale.ordered and left:
                self.draw_axis(y, places[left], ends, [labels[i] for i in left], above=True)
            if value is not None and scale.values[branch.start] <= value <= scale.values[branch.stop - 1]:
                height = y
        return height

    def draw_sum(
        self, y: float, window: tuple[float, float], ends: tuple[float, float], prior: float, total: float | None
    ) -> None:
        """Draw the sum axis and the probability axis below it; mark ``total``, at the end if it is out of range."""
        start, stop = window
        stretch = (ends[1] - ends[0]) / (stop - start)

        def place(sums: Any) -> Any:
            return ends[0] + (sums - start) * stretch

        sums = ticks_between(start, stop, 9)
        self.draw_axis(y, place(sums), ends, [f"{value:g}" for value in sums])
        probs = np.array([p for p in PROBABILITIES if start <= logit(p) - prior <= stop])
        self.draw_axis(y + 1.2, place(logit(probs) - prior), ends, [f"{prob:g}" for prob in probs])
        if total is None:
            return
        inside = float(np.clip(place(total), *ends))
        self.ax.plot([inside, inside], [y, y + 1.2], color="0.4", linewidth=0.8, linestyle="--", zorder=0)
        marker = "D" if inside == place(total) else "<" if total < start else ">"
        for height in (y, y + 1.2):
            self.mark(inside, height, NEUTRAL, marker)
        text = f"  sum {total:.3g}, P = {expit(total + prior):.3g}  ".replace("-", "−")
        side = "right" if inside > np.mean(ends) else "left"
        self.ax.text(inside, y + 0.75, text, ha=side, va="center", fontsize=FONTSIZE)

    def mark(self, place: float, y: float, colour: str | None = None, marker: str = "D") -> None:
        """Mark a contribution, by default in the colour of evidence for or against the class."""
        colour = colour or (FOR if place > 0 else AGAINST)
        self.ax.plot([place], [y], marker=marker, markersize=6, color=colour, markeredgecolor="black", zorder=4)


class Scale(NamedTuple):
    """The axis of a feature: its ``name``, sorted ``values`` [V], their contributions ``nats`` [V], tick ``labels`` [V]
    (empty: no tick), and whether the values are ``ordered``, so that there are others between them.
    """

    name: str
    values: Array
    nats: Array
    labels: list[str]
    ordered: bool

    def branches(self, shortest: float) -> list[slice]:
        """The branches of a curve on which the contribution is monotonic; a single one if values are unordered."""
        if not self.ordered:
            return [slice(0, len(self.values))]
        # a turn smaller than `shortest` starts no branch; `best` is the extreme of the current one
        starts, best, rising = [0], 0, 0
        for i in range(1, len(self.nats)):
            step = self.nats[i] - self.nats[best]
            if rising * step >= 0 and (rising or abs(step) >= shortest):
                rising, best = rising or int(np.sign(step)), i
            elif rising and abs(step) >= shortest:
                starts.append(best)
                rising, best = -rising, i
        ends = [*(start + 1 for start in starts[1:]), len(self.values)]
        return [slice(start, end) for start, end in zip(starts, ends, strict=True)]


def feature_scales(fit: Classifier, explanation: Explanation, of: int, count: int, row: int | None) -> dict[int, Scale]:
    """The scales of the features, by number, whose contributions vary most over the explained rows, widest first.

    A measurement's range covers the fraction ``MIDDLE`` of the rows, and ``row``. ValueError if no feature has an axis,
    or a value is impossible in one of the two classes.
    """
    has_cells = np.asarray(np.isfinite(explanation.values).any(axis=0))
    block_of: dict[int, str] = {}
    for block, places in explanation.blocks.items():
        family = fit.model.families[block]
        one_term = family.one_feature and (not has_word_terms(family) or places.stop - places.start == 1)
        if not one_term and num_parts(family) == 1:
            block_of |= {f: block for f in range(places.start, places.stop) if has_cells[f]}
    if not block_of:
        raise ValueError("no feature has an axis: blocks that are one term, and totals given with rows, have none")
    nats = explanation.contributions[:, of, list(block_of)]
    order = np.argsort(-np.ptp(np.where(np.isfinite(nats), nats, 0.0), axis=0), kind="stable")[:count]
    features = np.array(list(block_of))[order].tolist()
    axes = {f: _values(fit, explanation, block_of[f], f, row) for f in features}
    owner = np.repeat(features, [len(axes[f][0]) for f in features])
    rows = _rows(fit, explanation, owner, np.concatenate([axes[f][0] for f in features]))
    nats = explain(fit, rows, against=explanation.against).contributions[np.arange(len(owner)), of, owner]
    found = {}
    for f, (values, has_tick, ordered) in axes.items():
        name, own = explanation.feature_names[f], nats[owner == f]
        if not np.isfinite(own).all():
            raise ValueError(
                f"{name!r} is impossible at {values[~np.isfinite(own)][0]:g} in one of the two classes, which no axis "
                "reaches: fit with a prior, such as fit_posterior"
            )
        words = explanation.value_names.get(name)
        texts = [f"{value:.6g}" if words is None else str(words[int(value)]) for value in values]
        labels = [text if tick else "" for text, tick in zip(texts, has_tick, strict=True)]
        found[f] = Scale(name, values, own, labels, ordered)
    return found


def ticks_between(low: float, high: float, count: int, integer: bool = False) -> Array:
    """About ``count`` round numbers in a range."""
    from matplotlib.ticker import MaxNLocator

    ticks = np.asarray(MaxNLocator(count, integer=integer).tick_values(low, high))
    slack = 1e-9 * (high - low)
    return ticks[(ticks >= low - slack) & (ticks <= high + slack)]


def complete_rows(fit: Classifier, num_rows: int, given: Mapping[str, Array]) -> Any:
    """Rows with these blocks, in which the cells of all other blocks are missing."""
    rows: dict[str, Any] = dict(given)
    for block, family in fit.model.families.items():
        if block not in given:
            missing = np.full((num_rows, fit.columns()[block] or 1), np.nan)
            rows[block] = (missing,) * num_parts(family) if num_parts(family) > 1 else missing
    return rows["x"] if fit.model.single else rows


def _values(
    fit: Classifier, explanation: Explanation, block: str, f: int, row: int | None
) -> tuple[Array, Array, bool]:
    """The values of feature f, which of them have ticks, and whether they are ordered."""
    family, place = fit.model.families[block], f - explanation.blocks[block].start
    if size := (family.category_sizes(fit.columns()[block] or 1)[place:] or (0,))[0]:
        return np.arange(float(size)), np.ones(size, bool), False
    cells = explanation.values[:, f]
    finite = cells[np.isfinite(cells)]
    counts = not is_continuous(family)
    if counts and len(seen := np.unique(finite)) <= FEW_COUNTS:
        return seen, np.ones(len(seen), bool), False
    low, high = np.quantile(finite, tails(MIDDLE), method="nearest")
    if row is not None and np.isfinite(cells[row]):
        low, high = min(low, cells[row]), max(high, cells[row])
    ticks, curve = ticks_between(low, high, 10, counts), np.linspace(low, high, CURVE_POINTS)
    values = np.unique(np.concatenate([np.round(curve) if counts else curve, ticks]))
    return values, np.isin(values, ticks), True


def _rows(fit: Classifier, explanation: Explanation, owner: Array, values: Array) -> Any:
    """Rows in which one feature has a value, and all others are missing, or 0 for words."""
    rows = {}
    for block, family in fit.model.families.items():
        if num_parts(family) > 1:
            continue
        x = np.full((len(values), fit.columns()[block] or 1), 0.0 if has_word_terms(family) else np.nan)
        places = explanation.blocks[block]
        mine = (owner >= places.start) & (owner < places.stop)
        columns = owner[mine] - places.start
        x[mine, np.where(columns < x.shape[1], columns, 0)] = values[mine]  # any word sets the row length
        rows[block] = x
    return complete_rows(fit, len(values), rows)
