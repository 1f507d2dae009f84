"""The closed-form fits: sum the rows to statistics, then apply a formula.

Known parameters need no fit:

    >>> import bayesnb as nb
    >>> model = nb.NaiveBayes(nb.Bernoulli())
    >>> nb.fit_mle(model, [[1, 0], [1, 1], [0, 1]], [0, 0, 1]).predict([[1, 0], [0, 1]])
    array([0, 1])
    >>> known = nb.PointEstimate(model, {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0.01], [0.4, 0.1]]})
    >>> known.predict_proba([[1, 1]])
    array([[0.375, 0.625]])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import is_traced, known, on_host, with_automatic_axes
from bayesnb.compute.arrays._typing import ArrayLike, LabelsLike, Rows
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.compute.numerics._covariances import first_singular, variances
from bayesnb.core.families import Mapped, MultivariateNormal
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.model._declarations import check_model_float32
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.model._spelling import refuse_sampled
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import match_statistics
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, summarise


def fit_mle(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
) -> PointEstimate:
    """The maximum of the likelihood, argmax p(X, y | params). The prior is ignored; fixed class_probs stay.

    Variances are at least 1e-9 of their column's pooled variance. Parameters that the likelihood does not determine,
    such as those of a class without rows, get the estimate of all classes pooled.

    Values that JAX traces pass unchecked, in fits and predictions: a label outside 0..K-1 counts in no class, a cell
    outside the support, such as a flag of 2, gives a wrong answer without a word. In ``checkify.checkify(jax.jit(f))``,
    of ``jax.experimental``, they are errors; without it the checks cost nothing.

    Args:
        model: The specification.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        sample_weight: Weights [N].
        statistics: Sufficient statistics instead of rows.

    Raises:
        ValueError: if the data do not fit the model, or there is no row with a positive weight.

    Example:
        >>> import bayesnb as nb
        >>> nb.fit_mle(nb.NaiveBayes(nb.Normal()), [[1.0], [3.0], [5.0]], [0, 0, 1]).params["x_loc"]
        array([[2.],
               [5.]])
    """
    model, statistics = gather(model, X, y, sample_weight, statistics, evidence=False)
    counts = known(statistics.class_counts)
    if counts is not None and not counts.sum() > 0:
        raise ValueError("the likelihood has no maximum without rows: give at least one row with a positive weight")
    model, params = compute(_resolve_and_fit, model, statistics, formula=NaiveBayes.mle)
    require_maximum(model, params, statistics)
    return PointEstimate.trust(model, params)


def fit_map(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
) -> PointEstimate:
    """The joint mode of the posterior, argmax p(params | X, y), in the space of the sites.

    The smoothed textbook estimate (count + l) / (n + l C) is the MAP under ``Family.laplace(l)``. Arguments and
    errors as in ``fit_mle``; without rows the result is the mode of the prior.

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(1.0)), [[1], [1], [0]], [0, 0, 0])
        >>> fit.params["x_probs"].round(3)  # (2 + 1) / (3 + 2)
        array([[0.6]])
    """
    model, statistics = gather(model, X, y, sample_weight, statistics, closed_form=True, evidence=False)
    model, params = compute(_resolve_and_fit, model, statistics, formula=posterior_mode)
    if not is_traced(params):
        for name, of_block in model.block_params(params).items():
            require_numbers(model.families[name], of_block, statistics.blocks[name], name)
    return PointEstimate.trust(model, params)


def fit_posterior(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
) -> Posterior:
    """The exact posterior, by conjugacy; its predictions integrate the parameters out.

    Arguments and errors as in ``fit_mle``; without rows the result is the prior. The views of ``Views`` have equal
    shares, as ``powers`` say: ``temper`` learns others.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), [[1.0], [2.0], [6.0], [7.0]], [0, 0, 1, 1])
        >>> post.predict_proba([[2.0], [float("nan")]]).round(3)  # a missing cell adds nothing
        array([[0.753, 0.247],
               [0.5  , 0.5  ]])
        >>> round(float(post.log_evidence), 3)
        -13.146
    """
    model, statistics = gather(model, X, y, sample_weight, statistics, closed_form=True)
    prior, posterior = compute(_resolve_and_fit, model, statistics, formula=NaiveBayes.update)
    found = Posterior(prior, posterior, statistics, prior.start_powers())
    require_exact_integrals(found)
    return found


def posterior_mode(model: NaiveBayes, statistics: ModelStatistics) -> Sites:
    """The parameters that ``fit_map`` finds, for a resolved model. Pure JAX."""
    return model.update(statistics).mode()


CLOSED_FORMS: dict[Callable[..., Any], Callable[[NaiveBayes, ModelStatistics], Any]] = {
    fit_mle: NaiveBayes.mle,
    fit_map: posterior_mode,
    fit_posterior: NaiveBayes.update,
}
"""The formula of each fit: a function of a resolved model and statistics, in pure JAX."""


def require_fit(fit: Any, *allowed: Callable[..., Any], advice: str = "") -> None:
    """ValueError unless ``fit`` is one of the allowed functions; ``advice`` ends the message."""
    if not any(fit is one for one in allowed):
        names = " or ".join(one.__name__ for one in allowed)
        raise ValueError(f"fit must be {names}, got {getattr(fit, '__name__', fit)!r}{advice}")


def conjugate(model: NaiveBayes) -> NaiveBayes:
    """The model itself. ValueError unless it is one, without priors that need MCMC."""
    arguments.check_model(model)
    refuse_sampled(model.spelling, ", so there is no closed form: use fit_nuts")
    if model.priors:
        spelled = () if model.spelling is None else model.spelling.sites
        sites = [site.name for site in spelled if site.sources & model.priors.keys()] or [*model.priors]
        raise ValueError(
            f"the model has non-conjugate priors for {', '.join(sites)}, so there is no closed form: use fit_nuts, or "
            "leave out priors"
        )
    return model


@with_automatic_axes
def gather(
    model: NaiveBayes,
    X: Any,
    y: Any,
    sample_weight: Any,
    statistics: ModelStatistics | None,
    *,
    closed_form: bool = False,
    evidence: bool = True,
) -> tuple[NaiveBayes, ModelStatistics]:
    """The model, not yet resolved, and the statistics of the rows; both on the host if the data are.

    For a ``closed_form`` the model must be conjugate.
    """
    if closed_form:
        conjugate(model)
    else:
        arguments.check_model(model)
    if statistics is None:
        if X is None:
            raise ValueError("give rows, X and y, or statistics=sufficient_statistics(model, X, y)")
        statistics = summarise(label_rows(model, X, y, sample_weight), evidence=evidence)
    elif not (X is None and y is None and sample_weight is None):
        raise ValueError("give rows or their statistics, not both")
    else:
        match_statistics(model.families, model.num_classes, model.resolved, statistics)
    _warn_of_rounding(statistics)
    if on_host(statistics) and not is_traced(model):
        model = jax.tree.map(np.asarray, model)  # numbers too: they are then of double precision
    elif not model.resolved:
        check_model_float32(model.families, model.class_concentration)
    return model, statistics


def _warn_of_rounding(statistics: ModelStatistics) -> None:
    """Warn of cells of Normal that differ by so few units in the last place that their mean is rounded away."""
    for name, found in statistics.blocks.items():
        if isinstance(found, NormalStatistics) and not is_traced(found):
            count, mean, squares = map(np.asarray, (found.count, found.mean, found.squares))
            unit = np.square(np.finfo(mean.dtype).eps * mean)  # rows of weight one that differ have an eighth at least
            # rounding of the mean changes a standard deviation of 16 units by a thousandth
            few = (squares > 0.1 * unit) & (squares < count * 16**2 * unit)
            if few.any():
                column = int(few.any(axis=0).argmax())
                warn(
                    f"block {name!r}, column {column}: the cells of a class differ by a few units in the last place of "
                    f"{mean.dtype}, so means, merges and leave-one-out are rough: subtract a constant from the column"
                )


SPIKE = "give a value that repeats to nb.Hurdle(..., at=value), or the column to nb.Histogram"
"""What to do about many equal cells."""


def require_maximum(model: NaiveBayes, params: Sites, statistics: ModelStatistics) -> None:
    """ValueError if the likelihood has no maximum; traced values are not checked."""
    if is_traced(params):
        return
    for name, of_block in model.block_params(params).items():
        check_mle(model.families[name], of_block, statistics.blocks[name], name)


def require_numbers(family: Any, params: Sites, statistics: Any, block: str) -> None:
    """ValueError if parameters are NaN, as where a search found no maximum."""
    del statistics
    for value in params.values():
        places = np.argwhere(np.isnan(value))
        if len(places):
            k, d = places[0, :2]
            raise ValueError(
                f"block {block!r}, class {k}, column {d}: {family!r} has no maximum for these rows, or none that the "
                f"bins of the column resolve: give more rows, use fit_posterior, or {SPIKE}"
            )


check_mle = singledispatch(require_numbers)
"""ValueError if the likelihood of these statistics has no maximum; never called on tracers."""


def require_exact_integrals(fit: Posterior) -> None:
    """ValueError where integrals by quadrature are off by more than a tenth of a nat, and a warning where one counts.

    Traced values are not checked.
    """
    if is_traced(fit):
        return
    for block, errors in fit.errors.items():
        total = np.stack([np.asarray(part) for part in errors.values()]).sum(axis=0)
        if (total < limits.WARNED_ERROR).all():
            continue
        k, d = np.unravel_index(np.nan_to_num(total, nan=np.inf).argmax(), total.shape)
        name = max(errors, key=lambda name: np.nan_to_num(errors[name][k, d], nan=np.inf))
        sentence = f"block {block!r}, class {k}, column {d}: the {name} error of {fit.model.families[block]!r} is "
        sentence += f"{errors[name][k, d]:.2g} nats"
        if total[k, d] < limits.MOST_ERROR:
            warn(f"{sentence}: evidence and predictions of the column are that far off")
            continue
        why = (
            "log p(x) is not smooth in x, as where a location is a kink, the class is far narrower than its column, or "
            f"one value repeats, which no density can take: {SPIKE}"
            if name == "binning"
            else "the rows say too little about the parameters, or one value repeats: give more rows, numbers or "
            f"priors for some arguments, or {SPIKE}"
        )
        raise ValueError(f"{sentence}: {why}")


@check_mle.register(Mapped)
def _(family: Any, params: Sites, statistics: Any, block: str) -> None:
    family.each(lambda part, *own: check_mle(part, own[0], own[1], block), family.own(params), statistics.parts)


@check_mle.register(MultivariateNormal)
def _(family: Any, params: Sites, statistics: Any, block: str) -> None:
    matrices = np.asarray(family.as_table(params["covariance"]))
    # a column that varies only between classes is not a constant
    columns = np.asarray(variances(statistics.pool().covariance)[0]) > 0
    bad = first_singular(matrices, columns | (variances(matrices) > 0).any(axis=0))
    if bad is not None:
        whose = "the covariance" if family.shared else f"the covariance of class {bad}"
        raise ValueError(
            f"block {block!r}: {whose} ({np.asarray(statistics.count).tolist()} rows by class, "
            f"{len(columns)} columns) is singular: give MultivariateNormal(smoothing=...) or more rows, "
            "or use fit_map or fit_posterior, whose prior needs neither"
        )


@partial(jax.jit, static_argnames="formula")
def _resolve_and_fit(
    model: NaiveBayes, statistics: ModelStatistics, formula: Callable[..., Any]
) -> tuple[NaiveBayes, Any]:
    model = model.resolve(statistics=statistics)
    return model, formula(model, statistics)
