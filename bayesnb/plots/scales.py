"""The axes of a nomogram: the contribution of each value of a feature to the log odds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.inspection.explain import explain
from bayesnb.inspection.explanation import Explanation
from bayesnb.inspection.measures import is_continuous
from bayesnb.inspection.word_terms import has_word_terms
from bayesnb.results.classifier import Classifier
from bayesnb.results.intervals import tails
from bayesnb.rows.packing import num_parts

FEW_COUNTS = 12
"""Up to this many distinct counts are shown one by one."""

MIDDLE = 0.98
"""Fraction of the rows covered by a measurement's axis: outliers would compress all other values."""

CURVE_POINTS = 201
"""The number of points on a curve."""


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
