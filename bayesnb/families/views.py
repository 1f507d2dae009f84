"""A real column seen by several families at once, each with a power of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.host_calls import without_compiling
from bayesnb.arrays.placement import Array, on_host
from bayesnb.arrays.pytree import fields_of
from bayesnb.families.base import Params, pytree
from bayesnb.families.histogram import Histogram
from bayesnb.families.normal_scores import NormalScores
from bayesnb.families.parts.cell_columns import CellLogs
from bayesnb.families.parts.cell_statistics import HistogramStatistics
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.cells import find_cells

CELLS, SCORES = "Histogram", "NormalScores"
"""The names of the views."""


@pytree
class Views(Histogram):
    """Real features seen by V views, whose log ratios have powers w_dv:

        p(y = k | x)  is proportional to  p(k) prod_d prod_v r_kdv(x_d)^w_dv

    ``nb.Views(nb.NormalScores(), nb.Histogram())`` sees a column as a ``Histogram`` of cells and as a Normal of the
    cells' normal scores. Steps and a smooth curve err in different places: their geometric mean has better
    probabilities than either, and than an average weighted by evidence.

    A column's powers begin at a share of one, 1 / V each, so that the views together count as one. ``nb.temper``
    learns them from exact leave-one-out predictions, with ``per_feature`` one for each column and view. A fit without
    learned powers, such as ``fit_posterior`` gives, has equal shares: its ``weights`` are 1 / V. They are [V D], all
    columns of the first view, then all of the second. ``leave_one_out`` and ``cross_validate`` have equal shares, too.

    The generative model is the Histogram's alone: the NumPyro program, statistics, p(x), evidence, draws, feature
    inclusion, and all estimates of parameters, such as ``fit_map``, are its own. Explanations of a column add its
    views up. In intervals the cells' probabilities vary from draw to draw, and the normal scores have their predictive.

    Args:
        views: One Histogram, whose cells all views share, and at most one NormalScores, in any order.

    Raises:
        ValueError: for other views.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [40.0], [50.0], [600.0]], [0, 0, 1, 0, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Views(nb.NormalScores(), nb.Histogram())), X, y)
        >>> post.weights["x"].tolist(), post.predict_proba([[2.0]]).round(2)
        ([0.5, 0.5], array([[0.65, 0.35]]))
        >>> nb.temper(post, X, y, per_feature=True).weights["x"].shape  # a power for each column and view
        (2,)
    """

    views: tuple[str, ...] = field(default=(CELLS,), metadata={"static": True})

    several_views = True

    def __init__(self, *views: Histogram | NormalScores, **fields: Any) -> None:
        if not fields:
            fields = _fields(views)
        elif views or "views" not in fields or not fields.keys() <= {one.name for one in fields_of(type(self))}:
            raise TypeError("Views takes views such as nb.Views(nb.NormalScores(), nb.Histogram()), and no other names")
        for one in fields_of(type(self)):
            object.__setattr__(self, one.name, fields.get(one.name, one.default))
        self.__post_init__()
        if sorted(self.views) not in ([CELLS], [CELLS, SCORES]):
            raise ValueError(f"Views needs one Histogram, and at most one NormalScores beside it, got {self.views!r}")

    def __repr__(self) -> str:
        cells = object.__new__(Histogram)
        cells.__dict__.update({name: value for name, value in self.__dict__.items() if name != "views"})
        return f"Views({', '.join(repr(cells) if name == CELLS else f'{name}()' for name in self.views)})"

    # powers

    def num_powers(self, num_columns: int) -> int:
        return len(self.views) * num_columns

    def start_powers(self, num_columns: int) -> Array:
        return np.full(self.num_powers(num_columns), 1.0 / len(self.views))

    def _by_view(self, powers: Array) -> dict[str, Array]:
        """The powers of each view's columns, [D], or [1] from one power of the whole block."""
        powers = jnp.asarray(powers)
        whole = powers.shape[0] == 1
        split = jnp.broadcast_to(powers / len(self.views), (len(self.views), 1)) if whole else powers
        return dict(zip(self.views, split.reshape(len(self.views), -1), strict=True))

    def raised_tables(self, powers: Array) -> LogProb:
        """The logs of cells, [K, D G], from which ``predictive_scorer`` scores rows raised to powers."""
        logs = self.predictive_tables().finite
        return LogProb(self._add_views(logs.reshape(len(logs), -1, self.cells), powers).reshape(logs.shape), None)

    def _add_views(self, logs: Array, powers: Array) -> Array:
        """sum_v w_dv log r_kdv(g), [K, D, G], from those of the Histogram."""
        of_view = self._by_view(powers)
        total = of_view[CELLS][None, :, None] * logs
        return total + of_view[SCORES][None, :, None] * self._score_logs() if SCORES in of_view else total

    def _score_logs(self) -> Array:
        return NormalScores().log_ratios(self._mass, jnp.asarray(self.counts))

    def raise_terms(self, terms: Array, powers: Array, x: Array) -> Array:
        of_view = self._by_view(powers)
        total = terms * of_view[CELLS][None, None]
        if SCORES not in of_view:
            return total
        logs = self._score_logs()
        return total + self.at_cells(logs.reshape(len(logs), -1), x) * of_view[SCORES][None, None]

    def raise_divergence(self, params: Params, k: int, powers: Array) -> Array:
        probs = self.cell_probs(params)
        logs = self._add_views(jnp.log(jnp.where(probs > 0, probs, 1.0)), powers)
        return (probs[k][None] * (logs[k][None] - logs)).sum(axis=-1)

    def by_class(self) -> Any:
        return CellLogs(self.raised_tables(jnp.ones(1)).finite)

    # leave-one-out

    def left_out_powered(
        self, statistics: HistogramStatistics, y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        of_view = {CELLS: self.left_out(statistics, y, weight)}
        if SCORES in self.views:
            of_view[SCORES] = self._scores_left_out(statistics, y, weight)
        return lambda *rows: np.concatenate([of_view[name](*rows) for name in self.views], axis=2)

    def _scores_left_out(
        self, statistics: HistogramStatistics, y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        """The normal scores' log ratios of numpy rows without themselves, [N, K, D], as a function of the rows."""
        pairs = np.unique(y + 1j * weight)  # classes and weights, sorted by both
        if len(pairs) * self.cells > len(y):  # each row by itself is less work than a table
            return lambda *rows: without_compiling(_left_out_scores, self, statistics, *rows)
        logs, own = without_compiling(_score_tables, self, statistics, pairs.real.astype(np.int32), pairs.imag)

        def terms(x: Array, y: Array, weight: Array) -> Array:
            cells, column = find_cells(x, self._edges), np.arange(x.shape[1])[None]
            seen, place = np.maximum(cells, 0), np.searchsorted(pairs, y + 1j * weight)
            found = np.moveaxis(logs[:, column, seen], 0, 1)
            found[np.arange(len(y)), y] = own[place[:, None], column, seen]
            return np.where(cells[:, None, :] < 0, 0.0, found)

        return terms

    def left_out_scores(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        if on_host(self, statistics, x, y, weight):
            terms = self.left_out_powered(statistics, y, weight)(x, y, weight)
            return terms.sum(axis=2) / len(self.views)
        return products.sum_terms("shared_left_out_terms", (self, statistics), (x, y, weight))

    def shared_left_out_terms(self, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
        """The terms of rows without themselves at equal shares, [N, K, D]. Pure JAX."""
        terms = self.leave_one_out_terms(statistics, x, y, weight)
        if SCORES in self.views:
            terms = terms + _left_out_scores(self, statistics, x, y, weight)
        return terms / len(self.views)


def _left_out_scores(family: Views, statistics: HistogramStatistics, x: Array, y: Array, weight: Array) -> Array:
    """log r of the normal scores without the row, [N, K, D]."""
    posterior = family.update(statistics)
    logs = posterior._score_logs()
    terms = posterior.at_cells(logs.reshape(len(logs), -1), x)
    cells = find_cells(x, jnp.asarray(family._edges))
    left = NormalScores().left_out(posterior._mass, posterior.counts, cells, y, weight)
    own = jnp.arange(terms.shape[1])[None] == y[:, None]
    return jnp.where(own[:, :, None], left[:, None], terms)


def _score_tables(family: Views, statistics: HistogramStatistics, y: Array, weight: Array) -> tuple[Array, Array]:
    """The normal scores' log ratios of cells [K, D, G], and without a row of each class and weight [P, D, G]."""
    posterior, size = family.update(statistics), family.cells
    cells = jnp.broadcast_to(jnp.tile(jnp.arange(size), len(y))[:, None], (len(y) * size, len(family._mass)))
    rows = jnp.repeat(jnp.asarray(y), size), jnp.repeat(jnp.asarray(weight), size)
    left = NormalScores().left_out(posterior._mass, posterior.counts, cells, *rows)
    return posterior._score_logs(), jnp.moveaxis(left.reshape(len(y), size, -1), 2, 1)


def _fields(views: tuple[Any, ...]) -> dict[str, Any]:
    """The fields of ``Views`` from the views that a user gives."""
    known = {type(view) for view in views} <= {Histogram, NormalScores}
    cells = [view for view in views if type(view) is Histogram]
    if not known or len(cells) != 1 or len(views) > 2:
        raise ValueError(
            "Views takes one Histogram, and beside it NormalScores of the same cells, as in "
            f"nb.Views(nb.NormalScores(), nb.Histogram()), got {', '.join(map(repr, views)) or 'no view'}"
        )
    own = {one.name: getattr(cells[0], one.name) for one in fields_of(Histogram)}
    return {**own, "views": tuple(type(view).__name__ for view in views)}
