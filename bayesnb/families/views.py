"""A real column seen by several families at once, each with a power of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.cells import all_within
from bayesnb.arrays.compute import compute_rows
from bayesnb.arrays.placement import Array, on_host
from bayesnb.families.base import Family, Score, pytree, shares, start_powers
from bayesnb.families.histogram import Histogram
from bayesnb.families.left_out import left_out
from bayesnb.families.normal import Normal
from bayesnb.families.normal_scores import NormalScores
from bayesnb.families.parts.cell_columns import SAFE
from bayesnb.families.parts.cell_statistics import ViewStatistics
from bayesnb.families.parts.cells import require_exact
from bayesnb.families.parts.statistics import NormalStatistics
from bayesnb.families.parts.student_t import raise_student
from bayesnb.numerics.log_prob import LogProb
from bayesnb.primitives import products
from bayesnb.primitives.products.student import Student
from bayesnb.primitives.sums import ClassSums


def of_generative(*names: str) -> Any:
    """Attributes of these names, which are those of the generative model."""

    def attribute(name: str) -> property:
        return property(lambda views: getattr(views.generative, name))

    return map(attribute, names)


@pytree
class Views(Family):
    """Real features seen by V views: p(y = k | x) is proportional to p(k) prod_d prod_v r_kdv(x_d)^w_dv.

    ``nb.Views(nb.NormalScores(), nb.Histogram())`` sees a column as a ``Histogram`` of cells and as a Normal of the
    cells' normal scores: steps and a smooth curve err in different places. A ``Normal`` is a third view, of the numbers
    themselves, for columns that are close to it.

    A column's powers begin at a share of one: half for a Normal, and what is left in equal shares. ``nb.temper`` learns
    them from exact leave-one-out predictions, with ``per_feature`` one for each column and view: those of the Normal
    and those of the other views apart, each as if they were the only ones, and then half of each. So the prediction is
    the geometric mean of two, and loses at most the mean of what they lose. A fit without learned powers, such as
    ``fit_posterior`` gives, has the shares as its ``powers``, [V D]: all columns of the first view, then all of the
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
        >>> post.powers["x"].tolist(), post.predict_proba([[2.0]]).round(2)
        ([0.5, 0.5], array([[0.65, 0.35]]))
        >>> nb.temper(post, X, y, per_feature=True).powers["x"].shape  # a power for each column and view
        (2,)
    """

    families: tuple[Any, ...]

    statistics_type = ViewStatistics

    def __init__(self, *views: Histogram | NormalScores | Normal) -> None:
        kinds = [type(view) for view in views]
        known = {*kinds} <= {Histogram, NormalScores, Normal} and len({*kinds}) == len(kinds) and Histogram in kinds
        if not known or any(type(view) is Normal and view.shared for view in views):
            raise ValueError(
                "Views takes one Histogram, and beside it NormalScores of the same cells or a Normal with its own "
                "variances, as in nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram()), got "
                f"{', '.join(map(repr, views)) or 'no view'}"
            )
        object.__setattr__(self, "families", views)

    def __post_init__(self) -> None:
        self.map(lambda family: family.__post_init__())

    def __repr__(self) -> str:
        return f"Views({', '.join(map(repr, self.families))})"

    # the generative model, the Histogram

    @property
    def generative(self) -> Histogram:
        """The family that gives the program, p(x), the evidence and the parameters."""
        return next(family for family in self.families if type(family) is Histogram)

    axes, axis_sizes, declared_columns = of_generative("axes", "axis_sizes", "declared_columns")
    sites, common_sites, params, likelihood, check_params, reference, mode, mle = of_generative(
        "sites", "common_sites", "params", "likelihood", "check_params", "reference", "mode", "mle"
    )
    likelihood_tables, likelihood_scorer, log_likelihood_terms, log_likelihood_ratio = of_generative(
        "likelihood_tables", "likelihood_scorer", "log_likelihood_terms", "log_likelihood_ratio"
    )
    predictive_tables, log_predictive_terms, left_out_terms = of_generative(
        "predictive_tables", "log_predictive_terms", "left_out_terms"
    )
    log_partition, log_base_measure, row_base_measure = of_generative(
        "log_partition", "log_base_measure", "row_base_measure"
    )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "families" not in vars(self):  # copies ask before there are any
            raise AttributeError(name)
        return getattr(self.generative, name)

    # each family by itself

    def map(self, change: Callable[[Any], Any]) -> Self:
        """The same with other families; normal scores have nothing of their own."""
        changed = (one if isinstance(one, NormalScores) else change(one) for one in self.families)
        return self._replace(families=tuple(changed))

    @property
    def num_classes(self) -> int | None:
        found = {family.num_classes for family in self.fitted} - {None}
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return next(iter(found), None)

    @property
    def fitted(self) -> list[Any]:
        """The families with hyperparameters and statistics of their own."""
        return [family for family in self.families if not isinstance(family, NormalScores)]

    def check(self, x: Array, block: str) -> None:
        if not all_within(x, SAFE):
            Normal().check(x, block)
            require_exact(x, block)

    def prepare(self, x: Array, weight: Callable[[], Array | None]) -> Self:
        return self.map(lambda family: family.prepare(x, weight) if isinstance(family, Histogram) else family)

    def resolve(self, pooled: ViewStatistics, num_classes: int) -> Self:
        return self.map(lambda family: family.resolve(pooled.of(family), num_classes))

    def statistics(self, x: Array, z: ClassSums) -> ViewStatistics:
        return ViewStatistics.join(self.generative.statistics(x, z), NormalStatistics(*z.moments(x)))

    def update(self, statistics: ViewStatistics) -> Self:
        return self.map(lambda family: family.update(statistics.of(family)))

    # the terms of all views

    @property
    def normal(self) -> Normal:
        """The view of the numbers themselves."""
        return next(one for one in self.families if type(one) is Normal)

    @property
    def _views(self) -> tuple[Any, ...]:
        """The families, with the Histogram's cells for the normal scores."""
        return tuple(one.of(self.generative) if isinstance(one, NormalScores) else one for one in self.families)

    def side_by_side(self, terms: Array, x: Array) -> Array:
        """Terms of the generative model [N, K, D], and those of the other views' predictives, [N, K, V, D]."""
        own = self.generative
        return jnp.stack([terms if one is own else one.log_predictive_terms(x) for one in self._views], axis=2)

    def raised_tables(self, powers: Array) -> Any:
        """The logs of cells, [K, D G], and Student's t of a Normal, raised to powers [V, D] or [V, 1]."""
        raised = [self._raise(one.predictive_tables(), own) for one, own in zip(self._views, powers, strict=True)]
        cells = LogProb(sum(table.finite for table in raised if isinstance(table, LogProb)), None)
        of_normal = [table for table in raised if isinstance(table, Student)]
        return (cells, *of_normal) if of_normal else cells

    def _raise(self, tables: LogProb | Student, powers: Array) -> LogProb | Student:
        if isinstance(tables, Student):
            return raise_student(tables, powers)
        logs = tables.finite.reshape(len(tables.finite), -1, self.generative.cells)
        return LogProb((powers[None, :, None] * logs).reshape(tables.finite.shape), None)

    def predictive_scorer(self, tables: Any) -> Score:
        if isinstance(tables, LogProb):
            return self.generative.predictive_scorer(tables)
        of_cells, of_normal = self.generative.predictive_scorer(tables[0]), Normal().predictive_scorer(tables[1])
        return lambda x: LogProb(of_cells(x).finite + of_normal(x).finite, None)

    # rows without themselves

    def leave_one_out(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        """What the views add to log p(k | x) without the row, [N, K], up to what is alike for all classes."""
        if on_host(self, statistics, x, y, weight):
            return left_out(self, statistics, y, weight)(x, y, weight) @ start_powers(self, x.shape[1])
        return compute_rows(products.sum_terms, (self, statistics), (x, y, weight), terms="_shared_terms")

    def _shared_terms(self, *given: Any) -> Array:
        return self.leave_one_out_terms(*given) * start_powers(self, given[1].shape[1])[None, None]

    def leave_one_out_terms(self, statistics: ViewStatistics, x: Array, y: Array, weight: Array) -> Array:
        """Those of each view, [N, K, V D]. Pure JAX."""
        terms = [one.leave_one_out_terms(statistics.of(one), x, y, weight) for one in self._views]
        return jnp.concatenate(terms, axis=2)


Histogram.register(Views)  # to functions of families it is the Histogram that generates


@shares.register(Views)
def _(views: Views) -> tuple[tuple[float, ...], ...]:
    normal = [float(type(family) is Normal) for family in views.families]
    groups = [group for group in (normal, [1.0 - one for one in normal]) if any(group)]
    return tuple(tuple(one / sum(group) for one in group) for group in groups)


@left_out.register(Views)
def _(views: Views, statistics: ViewStatistics, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    of_view = [left_out(one, statistics.of(one), y, weight) for one in views._views]
    return lambda *rows: np.concatenate([terms(*rows) for terms in of_view], axis=2)


def with_views(family: Family) -> Family:
    """The family, or for a Normal three views of its columns, of which it is one."""
    return Views(family, NormalScores(), Histogram()) if type(family) is Normal else family
