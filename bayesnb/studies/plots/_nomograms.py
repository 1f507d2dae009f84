"""The nomogram of a classifier: read off each feature's log odds, add them up, read off the probability.

Mozina, Demsar, Kattan and Zupan, Nomograms for visualization of naive Bayesian classifier (PKDD 2004).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.signal import find_peaks
from scipy.special import expit, logit

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.arrays._typing import Estimator, FeatureNames, Table
from bayesnb.core.results import _display_names as names
from bayesnb.core.results._classifier import Classifier, Posterior
from bayesnb.core.results._combine import has_word_terms
from bayesnb.core.results._intervals import tails
from bayesnb.core.results._unwrap import unwrap_pipeline
from bayesnb.core.rows._checks import num_parts
from bayesnb.inspection._compare_evidence import is_continuous
from bayesnb.inspection._explain import explain, without_dependence
from bayesnb.inspection._explanation import Explanation
from bayesnb.studies.plots._style import AGAINST, FOR, NEUTRAL, escape_dollars, heading, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONTSIZE = 7.5

PROBABILITIES = (0.5, 0.1, 0.9, 0.01, 0.99, 0.001, 0.999, 0.3, 0.7, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.005, 0.995)
"""Candidate ticks of the probability axis, in order of priority."""


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
    scales = feature_scales(without_dependence(unwrap_pipeline(fit)[0]), explanation, k, count, row)
    nats = np.zeros(len(explanation.feature_names)) if row is None else explanation.contributions[row, k]
    others, num_others = float(np.delete(nats, list(scales)).sum()), len(nats) - len(scales)
    ends = np.array([[scale.nats.min(), scale.nats.max()] for scale in scales.values()])
    low, high = min(ends.min(), others, 0.0), max(ends.max(), others, 0.0)
    labels, bottom, lines = {0.0: "log odds [nats]"}, 1.2, []
    for f, scale in scales.items():
        labels[bottom] = shorten(scale.name)
        for number, branch in enumerate(scale.branches(0.03 * (high - low))):  # two of a line: one below, one above
            lines.append((f, bottom + 0.8 * (number // 2), branch, (-1,) if number % 2 else (1,)))
        bottom = lines[-1][1] + 1.0
    if num_others:
        labels[bottom] = f"{num_others} other feature{'s' * (num_others > 1)}"
        bottom += 1.0
    alone = "" if len(classes) == 2 else " of the two"
    labels |= {bottom: "sum [nats]", bottom + 1.2: f"P({shorten(classes[k])}){alone}"}
    draw = _pen(ax, labels, low, high)
    ax.set_title(heading(classes[k], classes[other]), fontsize=10)
    draw(0.0, ticks := ticks_between(low, high, 9), [f"{tick:g}" for tick in ticks], (low, high), (-1,))
    ax.plot([0, 0], [0, bottom - 0.6], color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    heights = dict[int, float]()
    for f, y, branch, sides in lines:
        scale, own = scales[f], scales[f].nats[branch]
        draw(y, own, scale.labels[branch], (own.min(), own.max()), sides if scale.ordered else (1, -1))
        if f not in heights or scale.values[branch][0] <= explanation.values[row or 0, f] <= scale.values[branch][-1]:
            heights[f] = y
    for f, height in heights.items() if row is not None else ():
        _mark(ax, float(nats[f]), height)
    if num_others and row is not None:
        _mark(ax, others, bottom - 1.0)
    elif num_others:
        ax.text(0.0, bottom - 1.0, " unknown: 0", va="center", fontsize=FONTSIZE)
    prior = float(explanation.prior[k])
    # the reachable sums whose probabilities are distinguishable; all distinguishable ones if that range is short
    start, stop = np.clip(ends.sum(axis=0) + others, -limits.MOST_LOG_ODDS - prior, limits.MOST_LOG_ODDS - prior)
    if stop - start <= 4.0:
        start, stop = -limits.MOST_LOG_ODDS - prior, limits.MOST_LOG_ODDS - prior

    def place(sums: Any) -> Any:
        return low + (sums - start) * (high - low) / (stop - start)

    sums, probs = ticks_between(start, stop, 9), np.array(PROBABILITIES)
    draw(bottom, place(sums), [f"{value:g}" for value in sums], (low, high))
    probs = probs[(logit(probs) - prior >= start) & (logit(probs) - prior <= stop)]
    draw(bottom + 1.2, place(logit(probs) - prior), [f"{prob:g}" for prob in probs], (low, high))
    if row is not None:
        total = float(nats.sum())
        inside = float(np.clip(place(total), low, high))
        ax.plot([inside, inside], [bottom, bottom + 1.2], color="0.4", linewidth=0.8, linestyle="--", zorder=0)
        for height in (bottom, bottom + 1.2):
            _mark(ax, inside, height, NEUTRAL, "<" if total < start else ">" if total > stop else "D")
        text = f"  sum {total:.3g}, P = {expit(total + prior):.3g}  ".replace("-", "−")
        side = "right" if inside > 0.5 * (low + high) else "left"
        ax.text(inside, bottom + 0.75, text, ha=side, va="center", fontsize=FONTSIZE)
    return ax


def _pen(ax: Axes, labels: Mapping[float, str], low: float, high: float) -> Callable[..., None]:
    """What draws an axis on a page from ``low`` to ``high``, at the height of one of its ``labels`` or between them."""
    margin = 0.04 * (high - low)
    ax.set(xlim=(low - margin, high + margin), ylim=([*labels][-1] + 0.7, -0.8), xticks=[])
    ax.set_yticks([*labels], [*labels.values()], fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    figure: Any = ax.figure.figure  # the root figure, also from a subfigure
    figure.draw_without_rendering()  # compute the layout, so that the width of a character is known
    unit = FONTSIZE * (high - low + 2 * margin) * figure.dpi / (72 * ax.get_window_extent().width)

    def draw(y: float, places: Array, texts: Sequence[str], ends: Sequence[float], sides: Sequence[int] = (1,)) -> None:
        """A line with a tick where it has a text, and the texts that fit: first on one side (1 is below)."""
        ax.plot(ends, [y, y], color="black", linewidth=0.9)
        left = [(place, text) for place, text in zip(places, texts, strict=True) if text]
        for side in sides:
            ax.vlines([place for place, _ in left], y, y + 0.12 * side, color="black", linewidth=0.9)
            style: Any = {"ha": "center", "va": "top" if side > 0 else "bottom", "fontsize": FONTSIZE}
            waiting, left, taken = left, [], list[tuple[float, float]]()
            for place, text in waiting:
                half = (0.31 * len(text) + 0.25) * unit  # a character is 0.62 of the font size wide
                if any(place - half < end and place + half > start for start, end in taken):
                    left.append((place, text))
                    continue
                taken.append((place - half, place + half))
                ax.text(place, y + 0.16 * side, escape_dollars(text.replace("-", "−")), **style)

    return draw


def _mark(ax: Axes, place: float, y: float, colour: str | None = None, marker: str = "D") -> None:
    """Mark a contribution, by default in the colour of evidence for or against the class."""
    colour = colour or (FOR if place > 0 else AGAINST)
    ax.plot([place], [y], marker=marker, markersize=6, color=colour, markeredgecolor="black", zorder=4)


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
        """The branches of a curve on which the contribution is monotonic, but for turns smaller than ``shortest``."""
        peaks = [find_peaks(sign * self.nats, prominence=shortest)[0] for sign in (1, -1)] if self.ordered else []
        turns = np.sort(np.concatenate([[0, len(self.nats) - 1], *peaks])).astype(int).tolist()
        return [slice(start, end + 1) for start, end in pairwise(turns)]


def feature_scales(fit: Classifier, explanation: Explanation, of: int, count: int, row: int | None) -> dict[int, Scale]:
    """The scales of the features, by number, whose contributions vary most over the explained rows, widest first.

    ValueError if there is nothing to draw, or a value is impossible in one of the two classes.
    """
    at, families = _at_one_length(fit, explanation, row), fit.model.families
    owners = {f: b for b, places in explanation.blocks.items() for f in range(places.start, places.stop)}
    has_values: Any = np.isfinite(explanation.values).any(axis=0)
    features = [f for f, b in owners.items() if has_values[f] and num_parts(families[b]) == 1]
    if not features:
        raise ValueError("nothing to draw: every block is a single term, or has totals in its rows")
    nats = explanation.contributions[:, of, features]
    order = np.argsort(-np.ptp(np.where(np.isfinite(nats), nats, 0.0), axis=0), kind="stable")[:count]
    return {f: _scale(at, explanation, owners[f], f, of, row) for f in np.array(features)[order].tolist()}


def _scale(fit: Classifier, explanation: Explanation, block: str, f: int, of: int, row: int | None) -> Scale:
    """The scale of feature f: what ``explain`` says of rows in which it has a value, and the others are missing."""
    name, cells, family = explanation.feature_names[f], explanation.values[:, f], fit.model.families[block]
    num_columns, column = fit.columns()[block] or 1, f - explanation.blocks[block].start
    seen, counts, ordered = cells[np.isfinite(cells)], not is_continuous(family), False
    if size := (family.category_sizes(num_columns)[column:] or (0,))[0]:
        values = ticks = np.arange(float(size))
    elif counts and len(np.unique(seen)) <= limits.MOST_COUNTS:
        values = ticks = np.unique(seen)
    else:
        ends = np.quantile(seen, tails(limits.NOMOGRAM_SHARE), method="nearest")
        marked = ends if row is None else cells[row]  # which may lie outside
        low, high, ordered = np.fmin(ends[0], marked).min(), np.fmax(ends[1], marked).max(), True
        ticks, curve = ticks_between(low, high, 10, counts), np.linspace(low, high, 201)
        values = np.unique(np.concatenate([np.round(curve) if counts else curve, ticks]))
    x = np.full((len(values), num_columns), 0.0 if has_word_terms(family) else np.nan)
    x[:, min(column, num_columns - 1)] = values  # for the length of a row any word
    rows = complete_rows(fit, len(values), {block: x})
    nats = explain(fit, rows, against=explanation.against).contributions[:, of, f]
    if not np.isfinite(nats).all():
        raise ValueError(
            f"{name!r} is impossible at {values[~np.isfinite(nats)][0]:g} in one of the two classes, which no axis "
            "reaches: fit with a prior, such as fit_posterior"
        )
    words = explanation.value_names.get(name)
    texts = {v: f"{v:.6g}" if words is None else str(words[int(v)]) for v in ticks}
    return Scale(name, values, nats, [texts.get(v, "") for v in values], ordered)


def _at_one_length(fit: Classifier, explanation: Explanation, row: int | None) -> Classifier:
    """The fit with the powers of words at the length of the row, or at the mean length: axes add up at one length."""
    if not isinstance(fit, Posterior) or fit.all_powers is None or not fit.length_exponents:
        return fit
    lengths = explanation.values[slice(None) if row is None else [row]]
    words = {b: np.nan_to_num(lengths[:, explanation.blocks[b].stop - 1]).mean() for b in fit.length_exponents}
    return replace(fit, powers=fit.all_powers.at(words), length_exponents=None)


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
