"""Cross-validation from the statistics of each fold, which are summed only once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, singledispatch
from itertools import accumulate
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import in_threads, row_blocks
from bayesnb.compute.arrays._placement import as_array, pytree, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.core.families import Histogram, MultivariateNormal, Normal, Views
from bayesnb.core.families._views import by_view
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma, raise_student, student
from bayesnb.core.fits._closed_form import CLOSED_FORMS, conjugate, fit_mle, fit_posterior, require_fit, require_maximum
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites, Tables
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, from_host

T = TypeVar("T")


def cross_validate(
    model: NaiveBayes | Sequence[NaiveBayes],
    X: Rows,
    y: LabelsLike,
    *,
    folds: int | ArrayLike = 10,
    sample_weight: ArrayLike | None = None,
    fit: Callable[..., PointEstimate | Posterior] = fit_posterior,
) -> Array:
    """log p(k | x_i, D without the fold of i) of every row, [N, K]; [G, N, K] for G models.

    Equal to refitting without each fold, with the prior resolved on all rows. One pass over the rows gives the
    statistics of every fold; models that differ only in hyperparameters share it, and are evaluated together. Arguments
    not listed are as in ``fit_mle``.

    Args:
        model: The specification, or a list of them with the same families, for instance one per smoothing.
        folds: The number of folds, assigned in turn to the rows of each class; or the fold of each row, integers [N].
        fit: The fit that predicts: ``nb.fit_posterior``, ``nb.fit_map`` or ``nb.fit_mle``.

    Raises:
        ValueError: if the data do not fit the model, for fewer than two folds or more folds than rows, for models
            that differ in more than hyperparameters, for another fit, and if a likelihood has no maximum.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1], [1], [0], [0], [0], [0]], [0, 0, 0, 1, 1, 1]
        >>> model = nb.NaiveBayes(nb.Bernoulli.laplace(1.0))
        >>> nb.cross_validate(model, X, y, folds=3, fit=nb.fit_map).shape
        (6, 2)
    """
    require_fit(fit, *CLOSED_FORMS)
    given = model if isinstance(model, Sequence) else [model]
    if not given:
        raise ValueError("give at least one model")
    for one in given:
        arguments.check_model(one)
    models = [one.conjugate() if fit is fit_mle else conjugate(one) for one in given]  # an MLE ignores priors
    arguments.require_known("cross_validate", X, y, sample_weight)
    rows = label_rows(models[0], *to_host((X, y, sample_weight)))
    num_rows, num_classes = rows.num_rows, rows.num_classes
    fold = _folds(folds, rows.labels.y, num_rows)
    parts = in_threads(lambda f: from_host(rows.select(fold == f).drop_unused(), evidence=False), range(fold.max() + 1))
    # merged from both ends, so that nothing is subtracted
    before, after = (list(accumulate(ends, ModelStatistics.merge)) for ends in (parts, parts[::-1]))
    after = after[::-1]
    middle = [a.merge(b) for a, b in zip(before[:-2], after[2:], strict=True)]
    others = [after[1], *middle, before[-2]]
    resolved = [to_host(one).resolve(statistics=before[-1]) for one in models]
    if len({jax.tree.structure(one) for one in resolved}) > 1:
        raise ValueError("the models must have the same blocks, families and sizes; only hyperparameters may differ")
    grid = stack(resolved)
    what = f"probabilities of {num_rows:,} rows and {num_classes:,} classes by {len(models):,} models"
    memory.require(8 * num_rows * len(models) * num_classes, what, "give fewer rows or models at once")
    table = np.empty((num_rows, len(models), num_classes))
    scorer = grid.predictive_scorer if fit is fit_posterior else untie(grid.with_sites(None)).likelihood_scorer
    grid_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(grid))
    for some in row_blocks(len(others), grid_bytes, block_bytes=limits.AT_ONCE_BYTES):
        tables = _tables_of_folds(grid, others[some], fit)

        def predict(one: tuple[int, Tables]) -> None:
            f, of_fold = one
            # the scorer is made in the fold's thread, as it may copy its tables to another layout
            wide = scorer(of_fold)(rows.select(fold == f).arrays)
            # normalise each of the G models separately
            table[fold == f] = jax.tree.map(lambda part: part.reshape(-1, *table.shape[1:]), wide).normalise()

        in_threads(predict, enumerate(tables, some.start))
    return table.swapaxes(0, 1) if isinstance(model, Sequence) else table[:, 0]


def _tables_of_folds(grid: NaiveBayes, others: list[ModelStatistics], fit: Callable[..., Any]) -> list[Tables]:
    """For each fold, the tables that score rows by fits to the others, [N, G K]: G fits of K classes are one."""
    tables, params = compute(_fold_tables, grid, stack(others), formula=CLOSED_FORMS[fit])
    if fit is fit_mle:
        for rest, of_fold in zip(others, _unstack(params, len(others)), strict=True):
            for of_model in _unstack(of_fold, len(of_fold["class_probs"])):
                require_maximum(grid.with_sites(None), of_model, rest)
    return _unstack(tables, len(others))


def fit_apart(model: NaiveBayes, found: Any) -> Any:
    """A posterior whose classes are apart, so that several can be joined; or parameters by the model's own sites."""
    if not isinstance(found, NaiveBayes):
        return dict(model.own_params(found))
    families = {b: _by_class(f) for b, f in found.families.items()}
    return found.with_sites(None).with_hyperparameters(families, found.class_concentration)


@partial(jax.jit, static_argnames="formula")
def _fold_tables(
    grid: NaiveBayes, others: ModelStatistics, formula: Callable[[NaiveBayes, ModelStatistics], Any]
) -> tuple[Tables, Sites | None]:
    """The tables of each fold, with parameters by class, and for an MLE the parameters, to be checked."""

    def of_fold(rest: ModelStatistics) -> tuple[Tables, Sites | None]:
        found = jax.vmap(lambda model: fit_apart(model, formula(model, rest)))(grid)
        if isinstance(found, NaiveBayes):
            return as_one(found, rest.num_classes).predictive_tables(), None
        common = grid.common_sites()
        own = {site: value[:, None] if site in common else value for site, value in found.items()}
        tables = untie(grid.with_sites(None)).likelihood_tables(as_one(own, rest.num_classes))
        return tables, found if formula is CLOSED_FORMS[fit_mle] else None

    return jax.vmap(of_fold)(others)


def untie(grid: NaiveBayes) -> NaiveBayes:
    families = {name: _with_own_parameters(family) for name, family in grid.families.items()}
    return grid.with_hyperparameters(families, grid.class_concentration)


@pytree
class BinLogs:
    """``logs`` of bins [K, D G], and the hyperparameters of a Normal view, which has the share one half, or None.

    A family whose classes are apart.
    """

    logs: Array
    normal: NormalInverseGamma | None = None

    def predictive_tables(self) -> Any:
        """The tables that score rows."""
        bins = LogProb(self.logs, None)
        return bins if self.normal is None else (bins, raise_student(student(self.normal), jnp.full((1,), 0.5)))


@singledispatch
def _by_class(family: Any) -> Any:
    """A family with the same ``predictive_tables`` whose classes are apart: any of them may be joined or taken."""
    return family


_by_class.register(Histogram, lambda family: BinLogs(family.predictive_tables().finite))


@_by_class.register(Views)
def _(family: Any) -> Any:
    tables = family.raised_tables(by_view(family, np.ones(1)))
    if isinstance(tables, LogProb):
        return BinLogs(tables.finite)
    return BinLogs(tables[0].finite, family.normal.prior)


@singledispatch
def _with_own_parameters(family: Any) -> Any:
    """The same family with parameters of its own for each class."""
    return family


@_with_own_parameters.register(Normal)
@_with_own_parameters.register(MultivariateNormal)
def _(family: Any) -> Any:
    return family._replace(**{family.may_be_common: family.choices[0]})


def as_one(tree: Any, num_classes: int) -> Any:
    """Reshape leaves [G, K, ...], or [G, 1, ...] if classes share them, to [G K, ...]; leaves [G] are unchanged."""

    def of_leaf(leaf: Array) -> Array:
        if leaf.ndim < 2:
            return leaf
        whole = jnp.broadcast_to(leaf, (leaf.shape[0], num_classes, *leaf.shape[2:]))
        return whole.reshape(leaf.shape[0] * num_classes, *leaf.shape[2:])

    return jax.tree.map(of_leaf, tree)


def stack(trees: list[T]) -> T:
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def _unstack(tree: T, size: int) -> list[T]:
    return [jax.tree.map(lambda leaf, i=i: leaf[i], tree) for i in range(size)]


def _folds(folds: Any, y: Array, num_rows: int) -> Array:
    fold = as_array(folds, "folds")
    if fold.ndim == 0:
        if not isinstance(folds, int | np.integer) or not 2 <= folds <= num_rows:
            raise ValueError(f"folds must be a number from 2 to {num_rows}, or the fold of each row, got {folds!r}")
        classes = y.argmax(axis=1) if y.ndim == 2 else y
        # continuing the turn from class to class makes fold sizes differ by at most one row
        fold = np.empty(num_rows, int)
        fold[np.argsort(classes, kind="stable")] = np.arange(num_rows) % folds
        return fold
    if fold.shape != (num_rows,) or not np.issubdtype(fold.dtype, np.integer) or fold.min(initial=0) < 0:
        raise ValueError(f"folds must be integers 0, 1, ... [{num_rows}], one a row, got {fold.dtype} {fold.shape}")
    used, fold = np.unique(fold, return_inverse=True)
    if len(used) < 2:
        raise ValueError("cross_validate needs at least two folds: with one, no rows are left to fit")
    return fold.reshape(-1)
