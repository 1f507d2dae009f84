"""A real column seen by several families at once, each with a power of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import all_within
from bayesnb.arrays.compute import compute_rows, interpret
from bayesnb.arrays.placement import Array, on_host
from bayesnb.arrays.pytree import fields_of
from bayesnb.families.base import Hyperparameter, Params, Score, pytree
from bayesnb.families.histogram import Histogram
from bayesnb.families.normal import Normal
from bayesnb.families.normal_scores import NormalScores
from bayesnb.families.parts.cell_columns import SAFE, CellLogs
from bayesnb.families.parts.cell_statistics import ViewStatistics
from bayesnb.families.parts.cells import centres_of, require_exact
from bayesnb.families.parts.student_t import raise_student
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.cells import find_cells
from bayesnb.primitives.sums import ClassSums

CELLS, SCORES, NORMAL = "Histogram", "NormalScores", "Normal"
"""The names of the views."""

OF_NORMAL = ("loc", "strength", "shape", "rate")
"""The hyperparameters of the Normal."""


@pytree
class Views(Histogram):
    """Real features seen by V views: p(y = k | x) is proportional to p(k) prod_d prod_v r_kdv(x_d)^w_dv.

    ``nb.Views(nb.NormalScores(), nb.Histogram())`` sees a column as a ``Histogram`` of cells and as a Normal of the
    cells' normal scores: steps and a smooth curve err in different places. A ``Normal`` is a third view, of the numbers
    themselves, for columns that are close to it.

    A column's powers begin at a share of one: half for a Normal, and what is left in equal shares. ``nb.temper`` learns
    them from exact leave-one-out predictions, with ``per_feature`` one for each column and view: those of the Normal
    and those of the other views apart, each as if they were the only ones, and then half of each. So the prediction is
    the geometric mean of two, and loses at most the mean of what they lose. A fit without learned powers, such as
    ``fit_posterior`` gives, has the shares as its ``weights``, [V D]: all columns of the first view, then all of the
    second. ``leave_one_out`` and ``cross_validate`` have them, too.

    The generative model is the Histogram's alone: the NumPyro program, p(x), evidence, draws, feature inclusion, and
    all estimates of parameters, such as ``fit_map``, are its own. Explanations of a column add its views up. In
    intervals the cells' probabilities vary from draw to draw, and the other views have their predictive.

    Args:
        views: One Histogram, whose cells all views share, and at most one NormalScores and one Normal with variances of
            its classes' own, in any order.

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

    loc: Hyperparameter = None
    strength: Hyperparameter = 1.0
    shape: Hyperparameter = 1.0
    rate: Hyperparameter = None
    views: tuple[str, ...] = field(default=(CELLS,), metadata={"static": True})

    axes = (*Histogram.axes, *((name, "KD") for name in OF_NORMAL))
    squared = ("loc",)
    statistics_type = ViewStatistics
    several_views = True

    def __init__(self, *views: Histogram | NormalScores | Normal, **fields: Any) -> None:
        if not fields:
            fields = _fields(views)
        elif views or "views" not in fields or not fields.keys() <= {one.name for one in fields_of(type(self))}:
            raise TypeError("Views takes views such as nb.Views(nb.NormalScores(), nb.Histogram()), and no other names")
        for one in fields_of(type(self)):
            object.__setattr__(self, one.name, fields.get(one.name, one.default))
        self.__post_init__()
        of_normal = Normal(**{name: getattr(self, name) for name in OF_NORMAL})
        for name in OF_NORMAL:
            object.__setattr__(self, name, getattr(of_normal, name))
        rest = [name for name in self.views if name not in (SCORES, NORMAL)]
        if rest != [CELLS] or len(set(self.views)) < len(self.views):
            raise ValueError(
                f"Views needs one Histogram, and at most one NormalScores and one Normal beside it, got {self.views!r}"
            )

    def __repr__(self) -> str:
        cells = object.__new__(Histogram)
        cells.__dict__.update(
            {name: value for name, value in self.__dict__.items() if name not in ("views", *OF_NORMAL)}
        )
        shown = {CELLS: repr(cells), NORMAL: repr(self._normal), SCORES: f"{SCORES}()"}
        return f"Views({', '.join(shown[name] for name in self.views)})"

    @property
    def _normal(self) -> Normal:
        normal = object.__new__(Normal)
        normal.__dict__.update({name: getattr(self, name) for name in OF_NORMAL}, variance="own")
        return normal

    # the statistics and priors of both

    def as_given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, **self._normal.as_given(values)}

    def check(self, x: Array, block: str) -> None:
        if not all_within(x, SAFE):
            self._normal.check(x, block)
            require_exact(x, block)

    def check_float32(self, block: str) -> None:
        super().check_float32(block)
        self._normal.check_float32(block)

    def resolve(self, pooled: Any, num_classes: int) -> Self:
        return super().resolve(pooled, num_classes)._with_normal(self._normal.resolve(pooled.moments, num_classes))

    def statistics(self, x: Array, z: ClassSums) -> ViewStatistics:
        return ViewStatistics.join(super().statistics(x, z), self._normal.statistics(x, z))

    def update(self, statistics: Any) -> Self:
        return super().update(statistics)._with_normal(self._normal.update(statistics.moments))

    def _with_normal(self, normal: Normal) -> Self:
        return self._replace(**{name: getattr(normal, name) for name in OF_NORMAL})

    # powers

    def num_powers(self, num_columns: int) -> int:
        return len(self.views) * num_columns

    def start_powers(self, num_columns: int) -> Array:
        return np.repeat(self._shares, num_columns)

    def power_groups(self, num_columns: int) -> tuple[Array, ...]:
        normal = np.array([name == NORMAL for name in self.views])
        groups = [group for group in (normal, ~normal) if group.any()]
        return tuple(len(groups) * np.repeat(group * 1.0, num_columns) for group in groups)

    @property
    def _shares(self) -> list[float]:
        """The power of each view with which a column's powers begin."""
        of_normal = 0.5 if NORMAL in self.views else 0.0
        of_others = (1.0 - of_normal) / (len(self.views) - (of_normal > 0))
        return [of_normal if name == NORMAL else of_others for name in self.views]

    def _by_view(self, powers: Array) -> dict[str, Array]:
        """The powers of each view's columns, [D], or [1] from one power of the whole block."""
        powers = jnp.asarray(powers)
        split = powers[None] * np.array(self._shares)[:, None] if powers.shape[0] == 1 else powers
        return dict(zip(self.views, split.reshape(len(self.views), -1), strict=True))

    def raised_tables(self, powers: Array) -> Any:
        """The logs of cells, [K, D G], and Student's t of a Normal, raised to powers."""
        cells = LogProb(self._cell_logs(of_view := self._by_view(powers)), None)
        return (cells, raise_student(self._normal.predictive_tables(), of_view[NORMAL])) if NORMAL in of_view else cells

    def predictive_scorer(self, tables: Any) -> Score:
        if isinstance(tables, LogProb):
            return super().predictive_scorer(tables)
        of_cells, of_normal = super().predictive_scorer(tables[0]), self._normal.predictive_scorer(tables[1])
        return lambda x: LogProb(of_cells(x).finite + of_normal(x).finite, None)

    def _cell_logs(self, of_view: Mapping[str, Array]) -> Array:
        logs = self.predictive_tables().finite
        return self._add_cells(logs.reshape(len(logs), -1, self.cells), of_view).reshape(logs.shape)

    def _add_cells(self, logs: Array, of_view: Mapping[str, Array]) -> Array:
        """sum_v w_dv log r_kdv(g), [K, D, G], over the views of cells, from those of the Histogram."""
        total = of_view[CELLS][None, :, None] * logs
        return total + of_view[SCORES][None, :, None] * self._score_logs() if SCORES in of_view else total

    def _score_logs(self) -> Array:
        return NormalScores().log_ratios(self._mass, jnp.asarray(self.counts))

    def raise_terms(self, terms: Array, powers: Array, x: Array) -> Array:
        of_view = self._by_view(powers)
        total = terms * of_view[CELLS][None, None]
        if SCORES in of_view:
            logs = self._score_logs()
            total = total + self.at_cells(logs.reshape(len(logs), -1), x) * of_view[SCORES][None, None]
        if NORMAL in of_view:
            total = total + self._normal.log_predictive_terms(x) * of_view[NORMAL][None, None]
        return total

    def raise_divergence(self, params: Params, k: int, powers: Array) -> Array:
        of_view, probs = self._by_view(powers), self.cell_probs(params)
        logs = self._add_cells(jnp.log(jnp.where(probs > 0, probs, 1.0)), of_view)
        if NORMAL in of_view:  # at the cells' centres
            centres = centres_of(jnp.asarray(self._edges), jnp.asarray(self._atoms))
            of_centres = self._normal.log_predictive_terms(centres.T) * of_view[NORMAL][None, None]
            logs = logs + jnp.moveaxis(of_centres, 0, 2)
        return jnp.where(probs[k][None] > 0, probs[k][None] * (logs[k][None] - logs), 0.0).sum(axis=-1)

    def by_class(self) -> Any:
        of_view = self._by_view(jnp.ones(1))
        return CellLogs(self._cell_logs(of_view), self._normal.prior if NORMAL in of_view else None)

    # leave-one-out

    def leave_out_by_power(
        self, statistics: ViewStatistics, y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        ways = {
            CELLS: lambda: self.left_out(statistics, y, weight),
            SCORES: lambda: self._scores_left_out(statistics, y, weight),
            NORMAL: lambda: self._normal.left_out(statistics.moments, y, weight),
        }
        of_view = [ways[name]() for name in self.views]
        return lambda *rows: np.concatenate([terms(*rows) for terms in of_view], axis=2)

    def _scores_left_out(
        self, statistics: ViewStatistics, y: Array, weight: Array
    ) -> Callable[[Array, Array, Array], Array]:
        """The normal scores' log ratios of numpy rows without themselves, [N, K, D], as a function of the rows."""
        pairs = np.unique(y + 1j * weight)  # classes and weights, sorted by both
        if len(pairs) * self.cells > len(y):  # each row by itself is less work than a table
            parts = interpret(_score_parts, self, statistics)
            return lambda *rows: interpret(_score_terms, self, parts, *rows)
        logs, own = interpret(_score_tables, self, statistics, pairs.real.astype(np.int32), pairs.imag)

        def terms(x: Array, y: Array, weight: Array) -> Array:
            cells, column = find_cells(x, self._edges), np.arange(x.shape[1])[None]
            seen, place = np.maximum(cells, 0), np.searchsorted(pairs, y + 1j * weight)
            found = np.moveaxis(logs[:, column, seen], 0, 1)
            found[np.arange(len(y)), y] = own[place[:, None], column, seen]
            return np.where(cells[:, None, :] < 0, 0.0, found)

        return terms

    def left_out_scores(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        if on_host(self, statistics, x, y, weight):
            terms = self.leave_out_by_power(statistics, y, weight)(x, y, weight)
            return terms @ self.start_powers(x.shape[1])
        return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="shared_left_out_terms")

    def shared_left_out_terms(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        """The terms of rows without themselves at the first shares, [N, K, D]. Pure JAX."""
        share = dict(zip(self.views, self._shares, strict=True))
        terms = share[CELLS] * self.leave_one_out_terms(statistics, x, y, weight)
        if SCORES in share:
            terms = terms + share[SCORES] * _score_terms(self, _score_parts(self, statistics), x, y, weight)
        if NORMAL in share:
            of_normal = self._normal.leave_one_out_terms(statistics.moments, x, y, weight)
            terms = terms + share[NORMAL] * of_normal
        return terms


def _score_parts(family: Views, statistics: ViewStatistics) -> tuple[Array, Any]:
    """What the normal scores of rows without themselves need of all rows: logs of cells [K, D G], and their sums."""
    posterior = family.update(statistics)
    logs = posterior._score_logs()
    return logs.reshape(len(logs), -1), NormalScores()._sums(posterior._mass, posterior.counts)


def _score_terms(family: Views, parts: tuple[Array, Any], x: Array, y: Array, weight: Array) -> Array:
    """log r of the normal scores without the row, [N, K, D]."""
    logs, sums = parts
    terms = family.at_cells(logs, x)
    left = NormalScores()._left_out(sums, find_cells(x, jnp.asarray(family._edges)), y, weight)
    own = jnp.arange(terms.shape[1])[None] == y[:, None]
    return jnp.where(own[:, :, None], left[:, None], terms)


def _score_tables(family: Views, statistics: ViewStatistics, y: Array, weight: Array) -> tuple[Array, Array]:
    """The normal scores' log ratios of cells [K, D, G], and without a row of each class and weight [P, D, G]."""
    posterior, size = family.update(statistics), family.cells
    cells = jnp.broadcast_to(jnp.tile(jnp.arange(size), len(y))[:, None], (len(y) * size, len(family._mass)))
    rows = jnp.repeat(jnp.asarray(y), size), jnp.repeat(jnp.asarray(weight), size)
    left = NormalScores()._left_out(NormalScores()._sums(posterior._mass, posterior.counts), cells, *rows)
    return posterior._score_logs(), jnp.moveaxis(left.reshape(len(y), size, -1), 2, 1)


def _fields(views: tuple[Any, ...]) -> dict[str, Any]:
    """The fields of ``Views`` from the views that a user gives."""
    kinds = [type(view) for view in views]
    cells = [view for view in views if type(view) is Histogram]
    normal = next((view for view in views if type(view) is Normal), Normal())
    known = {*kinds} <= {Histogram, NormalScores, Normal} and len({*kinds}) == len(kinds)
    if not known or len(cells) != 1 or normal.shared:
        raise ValueError(
            "Views takes one Histogram, and beside it NormalScores of the same cells or a Normal with its own "
            "variances, as in nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()), got "
            f"{', '.join(map(repr, views)) or 'no view'}"
        )
    own = {one.name: getattr(cells[0], one.name) for one in fields_of(Histogram)}
    own |= {name: getattr(normal, name) for name in OF_NORMAL}
    return {**own, "views": tuple(kind.__name__ for kind in kinds)}
