"""Compute the axes of a nomogram: the contribution of each value of a feature to the log odds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesnb.inspection.explain import explain
from bayesnb.inspection.explanation import Explanation
from bayesnb.results.classifier import Classifier

Array = np.ndarray[Any, Any]

FEW = 12
"""Up to this many distinct counts are shown one by one."""

MIDDLE = 0.98
"""Fraction of the rows covered by a measurement's axis: outliers would compress all other values."""

POINTS = 201
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
        """Split a curve into branches on which the contribution is monotonic; a single one if values are unordered."""
        if not self.ordered:
            return [slice(0, len(self.values))]
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


def scales(fit: Classifier, told: Explanation, of: int, count: int, row: int | None) -> dict[int, Scale]:
    """The scales of the features, by number, whose contributions vary most over the explained rows, widest first.

    A measurement's range covers the fraction ``MIDDLE`` of the rows, and ``row``.

    Raises:
        ValueError: if no feature has an axis, or a value is impossible in one of the two classes.
    """
    drawable = [f for f in range(len(told.feature_names)) if _has_axis(fit, told, f)]
    if not drawable:
        raise ValueError("no feature has an axis: blocks that are one term, and totals given with rows, have none")
    found = told.contributions[:, of, drawable]
    order = np.argsort(-np.ptp(np.where(np.isfinite(found), found, 0.0), axis=0), kind="stable")[:count]
    chosen = [drawable[i] for i in order.tolist()]
    ticks = {f: _values(fit, told, f, row) for f in chosen}
    owner = np.repeat(chosen, [len(ticks[f][0]) for f in chosen])
    rows = _rows(fit, told, owner, np.concatenate([ticks[f][0] for f in chosen]))
    nats = explain(fit, rows, against=told.against).contributions[np.arange(len(owner)), of, owner]
    out = {}
    for f in chosen:
        values, at_tick, ordered = ticks[f]
        name, own = told.feature_names[f], nats[owner == f]
        if not np.isfinite(own).all():
            raise ValueError(
                f"{name!r} is impossible at {values[~np.isfinite(own)][0]:g} in one of the two classes, which no axis "
                "reaches: fit with a prior, such as fit_posterior"
            )
        labels = [
            _label(value, told.value_names.get(name)) if tick else ""
            for value, tick in zip(values, at_tick, strict=True)
        ]
        out[f] = Scale(name, values, own, labels, ordered)
    return out


def _block_of(told: Explanation, f: int) -> tuple[str, int]:
    """The block of feature f, and its index in the block."""
    block = next(name for name, places in told.blocks.items() if places.start <= f < places.stop)
    return block, f - told.blocks[block].start


def _has_axis(fit: Classifier, told: Explanation, f: int) -> bool:
    block, _ = _block_of(told, f)
    family, places = fit.model.families[block], told.blocks[block]
    whole = family.one_feature and (not family.has_word_terms or places.stop - places.start == 1)
    return not whole and family.num_parts == 1 and bool(np.isfinite(told.values[:, f]).any())


def _values(fit: Classifier, told: Explanation, f: int, row: int | None) -> tuple[Array, Array, bool]:
    """The values of feature f, which of them have ticks, and whether they are ordered."""
    from matplotlib.ticker import MaxNLocator

    block, place = _block_of(told, f)
    family = fit.model.families[block]
    if size := (family.category_sizes(fit.columns()[block] or 1)[place:] or (0,))[0]:
        return np.arange(float(size)), np.ones(size, bool), False
    seen = np.unique(told.values[:, f])
    seen = seen[np.isfinite(seen)]
    whole = not family.continuous
    if whole and len(seen) <= FEW:
        return seen, np.ones(len(seen), bool), False
    cells = told.values[:, f]
    low, high = np.quantile(cells[np.isfinite(cells)], [0.5 - MIDDLE / 2, 0.5 + MIDDLE / 2], method="nearest")
    if row is not None and np.isfinite(cells[row]):
        low, high = min(low, cells[row]), max(high, cells[row])
    ticks = MaxNLocator(10, integer=whole).tick_values(low, high)
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    curve = np.linspace(low, high, POINTS)
    values = np.unique(np.concatenate([np.round(curve) if whole else curve, ticks]))
    return values, np.isin(values, ticks), True


def _rows(fit: Classifier, told: Explanation, owner: Array, values: Array) -> Any:
    """Rows in which one feature has a value, and all others are missing, or 0 for words."""
    rows: dict[str, Any] = {}
    for block, family in fit.model.families.items():
        words = family.has_word_terms
        x = np.full((len(values), fit.columns()[block] or 1), 0.0 if words else np.nan)
        places = owner - told.blocks[block].start
        mine = (places >= 0) & (owner < told.blocks[block].stop)
        x[mine, np.where(places[mine] < x.shape[1], places[mine], 0)] = values[mine]  # any word sets the row length
        rows[block] = (x,) * family.num_parts if family.num_parts > 1 else x
    return rows["x"] if fit.model.single else rows


def _label(value: float, given: Sequence[Any] | None) -> str:
    return f"{value:.6g}" if given is None else str(given[int(value)])
