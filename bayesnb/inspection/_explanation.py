"""The result of ``explain``: contributions that add up to the log odds of the prediction, and tables of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.special

from bayesnb.compute.arrays._extras import needed_by
from bayesnb.compute.arrays._typing import Array
from bayesnb.core.results._display_names import class_index
from bayesnb.core.results._intervals import Interval
from bayesnb.inspection.sensitivity._robustness import Robustness

if TYPE_CHECKING:
    import pandas as pd


class ExplanationIntervals(NamedTuple):
    """Credible intervals given the parameters: ``prior`` [K], ``contributions`` [N, K, F], and their sum,
    ``log_odds`` [N, K].

    Example:
        >>> import jax, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> found = nb.explain(post, [[1, 1]], key=jax.random.key(0), num_draws=100)
        >>> low, high = found.intervals.log_odds
        >>> found.intervals.contributions.low.shape, (low <= high).tolist()
        ((1, 2, 2), [[True, True]])
    """

    prior: Interval
    contributions: Interval
    log_odds: Interval


class Contribution(NamedTuple):
    """One feature's contribution: its ``name``, its ``value`` in the row, its ``log_odds`` in nats, the ends of the
    interval, NaN without one, and the value in words.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> found = nb.explain(post, [[1, 1]], feature_names=["cough", "fever"], class_names=["well", "ill"])
        >>> [(part.name, round(part.log_odds, 2)) for part in found.top()]
        [('cough', 1.1), ('fever', -0.41)]
    """

    name: str
    value: float
    log_odds: float
    low: float
    high: float
    value_name: str = ""

    @property
    def label(self) -> str:
        """The name and the value."""
        return f"{self.name} = {self.value_name}" if self.value_name else self.name


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Log odds of K classes against one, for N rows, in F + 1 parts that add up to those of the prediction.

    Attributes:
        prior: The contribution of the class probabilities, [K].
        contributions: The contribution of each feature, [N, K, F].
        values: The rows' cells [N, F]; NaN for missing cells, and for terms of many cells.
        intervals: Credible intervals of the parts and the log odds given the parameters; None without a key.
        against: The class j that the others are compared with; its own log odds are 0.
        level: The probability inside an interval, or None.
        class_names: K names.
        feature_names: F names.
        value_names: The names of the codes 0, 1, ... of a feature, by its name.
        blocks: The positions of each block's features.
        robustness: ``nb.robustness`` of a row by its number, which ``change`` tells; None of a fit that has none.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [0, 1]], [1, 1, 0, 0])
        >>> found = nb.explain(post, [[1, 1]], feature_names=["cough", "fever"], class_names=["well", "ill"])
        >>> found.contributions.round(2)  # nats for "ill", against "well"
        array([[[ 0.  ,  0.  ],
                [ 1.1 , -0.41]]])
        >>> bool(abs(found.log_odds - (found.prior + found.contributions.sum(axis=2))).max() < 1e-9)
        True
    """

    prior: Array
    contributions: Array
    values: Array
    intervals: ExplanationIntervals | None
    against: int
    level: float | None
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    value_names: Mapping[str, Sequence[object]]
    blocks: dict[str, slice]
    robustness: Callable[[int], Robustness | None]

    @cached_property
    def log_odds(self) -> Array:
        """log p(k | x) - log p(j | x), [N, K]: the sum of the prior and the contributions."""
        return self.prior + self.contributions.sum(axis=2)

    def of_row(self, row: int, of: int | str | None = None) -> int:
        """The number of the class ``of``, by default the row's most probable one besides ``against``.

        ValueError if there is no such row or class.
        """
        if not hasattr(row, "__index__") or not -len(self.contributions) <= row < len(self.contributions):
            raise ValueError(f"row must be a number below {len(self.contributions)}, got {row!r}")
        if of is not None:
            return class_index(of, self.class_names, "of")
        others = np.delete(np.arange(len(self.class_names)), self.against)
        return int(others[self.log_odds[row, others].argmax()]) if others.size else self.against

    def top(self, row: int = 0, count: int = 10, of: int | str | None = None) -> list[Contribution]:
        """The contributions of largest magnitude in a row, the largest first; those of 0 are left out.

        ``count`` is the maximum number of contributions; ``of`` and errors are as in ``of_row``.
        """
        k = self.of_row(row, of)
        return [self._feature(row, k, f) for f in self._strongest(row, k, count)]

    def parts(self, row: int = 0, count: int = 10, of: int | str | None = None) -> list[Contribution]:
        """The class prior, ``top``, and the sum of all other features: parts that add up to the log odds."""
        k = self.of_row(row, of)
        shown = self._strongest(row, k, count)
        parts = [Contribution("class prior", math.nan, float(self.prior[k]), *self._ends("prior", k))]
        parts += [self._feature(row, k, f) for f in shown]
        others = np.delete(self.contributions[row, k], shown)
        if others.any():
            name = f"{others.size} other feature{'s' * (others.size > 1)}"
            parts.append(Contribution(name, math.nan, float(others.sum()), math.nan, math.nan))
        return parts

    def total(self, row: int = 0, of: int | str | None = None) -> Contribution:
        """The log odds, as one ``Contribution``."""
        k = self.of_row(row, of)
        return Contribution("log odds", math.nan, float(self.log_odds[row, k]), *self._ends("log_odds", row, k))

    def change(self, row: int = 0) -> str:
        """What would have to be in how many more rows to change the decision of a row, in one sentence: ``robustness``.

        Empty for fits that have none, and where the part of one without dependence decides otherwise. Of cells that
        would be repeated, the three that speak most for the decision are named.
        """
        self.of_row(row)
        found, best = self.robustness(row), int(self.log_odds[row].argmax())
        if found is None or found.labels[0] != best or found.s_star[0] == 0 or len(self.class_names) == 1:
            return ""
        s, other, share = float(found.s_star[0]), int(found.rivals[0]), float(found.support[0])
        one, rival = self.class_names[best], self.class_names[other]
        more = f"{s:,.{0 if s >= 100 else 2}f} more rows" if s >= 0.005 else "less than 0.01 more rows"
        alone = "without dependence, " * found.ignores_dependence
        if math.isinf(s):
            first = f"rows labelled {rival} and like this one come nearest to changing that"
            none = f"no number of further rows, whatever is in them, would make a class other than {one} win"
            return f"{alone}{none}; {first}"
        seen = np.flatnonzero(~np.isnan(self.values[row]))
        nats = self.contributions[row, best, seen] - self.contributions[row, other, seen]
        shown = [self._feature(row, best, f).label for f in seen[np.argsort(-nats, kind="stable")[:3]]]
        cells = f" with {', '.join(shown)}" if shown else ""
        cells += " and the other cells of this row" if len(seen) > len(shown) else ""
        contents = {f"labelled {rival}{cells}": share, f"labelled {one} and unlike this row in all cells": 1.0 - share}
        told = [f"{100 * part:.0f} % {what}" for what, part in contents.items() if part >= 0.005]
        told = [f"all {what}" for what, part in contents.items() if part > 0.995] or told
        return f"{alone}{more} would make {rival} as probable as {one}: {' and '.join(told)}"

    def table(self, row: int = 0, count: int = 10, of: int | str | None = None) -> str:
        """``parts``, ``total`` and ``change`` as text; arguments as for ``top``."""
        k, total = self.of_row(row, of), self.total(row, of)
        level = f", {self.level:.3g} intervals" if self.level else ""
        parts = [*self.parts(row, count, of), total]
        width = max(len(part.label) for part in parts)
        one, only = self.class_names[k], len(self.class_names) == 1
        odds = f"{one}, the only class" if only else f"{one} against {self.class_names[self.against]}"
        text = [f"{odds}, row {row} [nats]{level}"]
        for part in parts:
            ends = "" if math.isnan(part.low) else f"  [{part.low:+.3f}, {part.high:+.3f}]"
            text.append(f"  {part.label:{width}}  {part.log_odds:+9.3f}{ends}")
        alone = " of the two" if len(self.class_names) > 2 else ""
        text.append(f"  P({one}){alone} = {1.0 if only else scipy.special.expit(total.log_odds):.4g}")
        change = self.change(row)
        return "\n".join([*text, *([f"  {change}"] if change else [])])

    def to_frame(self) -> pd.DataFrame:
        """The ``parts`` of each row and of each class but ``against``, a line each: `row`, `class`, and the fields of
        ``Contribution``. The `log_odds` of a row and a class add up to those of the prediction.
        """
        with needed_by("Explanation.to_frame"):
            import pandas as pd
        rows, classes, features = map(range, self.contributions.shape)
        others = [k for k in classes if k != self.against]
        found = ((n, k, part) for n in rows for k in others for part in self.parts(n, len(features), k))
        lines = [(n, self.class_names[k], *part) for n, k, part in found]
        return pd.DataFrame(lines, columns=["row", "class", *Contribution._fields])

    def _repr_html_(self) -> str:
        """What ``repr`` shows, as notebooks show it."""
        parts = [*self.parts(count=5), self.total()] if len(self.contributions) else []
        numbers = [(part.log_odds, part.low, part.high)[: 3 if self.level else 1] for part in parts]
        cells = [["" if math.isnan(one) else f"{one:+.3f}" for one in line] for line in numbers]
        head = ["part", "log odds", "low", "high"][: 4 if self.level else 2]
        lines = ["".join(f"<th>{name}</th>" for name in head)]
        for part, line in zip(parts, cells, strict=True):
            lines.append("".join(f"<td>{cell}</td>" for cell in (escape(part.label), *line)))
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        title = escape("\n".join(repr(self).split("\n")[:2]))
        change = self.change() if parts else ""
        return f"<pre>{title}</pre><table>{table}</table>{change and f'<p>{escape(change)}</p>'}"

    def __repr__(self) -> str:
        """The sizes, and the strongest contributions of the first row."""
        num_rows, num_classes, num_features = self.contributions.shape
        level = f", level={self.level:g}" if self.level else ""
        head = f"Explanation({num_rows} rows, {num_classes} classes, {num_features} features{level})"
        return f"{head}\n{self.table(count=5)}" if num_rows else head

    def _strongest(self, row: int, k: int, count: int) -> list[int]:
        nats = self.contributions[row, k]
        order = np.argsort(-np.abs(nats), kind="stable")[:count].tolist()
        return [f for f in order if nats[f] != 0]

    def _feature(self, row: int, k: int, f: int) -> Contribution:
        ends = self._ends("contributions", row, k, f)
        name, value = self.feature_names[f], float(self.values[row, f])
        return Contribution(name, value, float(self.contributions[row, k, f]), *ends, self.value_name(name, value))

    def _ends(self, part: str, *place: int) -> tuple[float, float]:
        """The ends of one interval; NaN without intervals."""
        if self.intervals is None:
            return math.nan, math.nan
        low, high = getattr(self.intervals, part)
        return float(low[place]), float(high[place])

    def value_name(self, feature: str, value: float) -> str:
        """A feature's value in words; empty for NaN."""
        if math.isnan(value):
            return ""
        words = self.value_names.get(feature)
        return f"{value:.4g}" if words is None else str(words[int(value)])
