"""Expectation maximisation: the MLE or the MAP from labelled and unlabelled rows together.

    log p(labelled rows | params) + lambda sum over unlabelled rows of log sum_k p(y = k, x | params) [+ log p(params)]

E-step: responsibilities p(y = k | x, params) of the unlabelled rows. M-step: the closed-form fit from the statistics
of the labelled rows, summed once, merged with those of the unlabelled rows under these soft labels times lambda.
Dempster, Laird and Rubin, Maximum likelihood from incomplete data via the EM algorithm (1977), section 3; Nigam et
al., Text classification from labeled and unlabeled documents using EM (2000), sections 5.2 and 5.3.2 (EM-lambda).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from scipy.special import rel_entr

from bayesnb.arrays.host_calls import finalise
from bayesnb.arrays.masked import without_mask
from bayesnb.arrays.placement import Array, as_array, is_traced, to_host
from bayesnb.arrays.pytree import pytree
from bayesnb.fits.closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.fits.prior_density import log_prior
from bayesnb.model.naive_bayes import NaiveBayes, Sites
from bayesnb.numerics.log_prob import LogProb, logsumexp
from bayesnb.primitives.sums import Labels
from bayesnb.results.classifier import PointEstimate
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_shapes
from bayesnb.rows.labelled_rows import LabelledRows
from bayesnb.rows.labels import check_labels, check_weights
from bayesnb.rows.statistics import ModelStatistics, from_host, merge

Fit = Callable[..., PointEstimate]


@pytree
class EMEstimate(PointEstimate):
    """The parameters where EM ended, and how it got there.

    ``log_posterior`` [T + 1] is the objective at the start and after each of T iterations: the log posterior density,
    or the log likelihood for an MLE; it never falls. It is -inf if a row is impossible, and inf on the boundary of the
    parameter space if the prior's density is unbounded there, as with a concentration below 1.
    """

    log_posterior: Array
    converged: bool = field(metadata={"static": True})
    num_iterations: int = field(metadata={"static": True})

    def __post_init__(self) -> None:
        """Skip the check: parameters from a fit are valid."""

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same parameters for a population with these class probabilities [K]; ``log_posterior`` is unchanged."""
        other = PointEstimate.trusted(self.model, self.params).with_class_probs(class_probs)
        return replace(self, model=other.model, params=other.params)


class Rows(NamedTuple):
    """Partly labelled rows: the resolved model, the statistics of the labelled rows, and the unlabelled rows.

    ``arrays`` hold the unlabelled rows by block, [M, D], and ``weight`` [M] their weights.
    """

    model: NaiveBayes
    labelled: ModelStatistics
    arrays: dict[str, Array]
    weight: Array

    def statistics(self, share: Array) -> ModelStatistics:
        """The statistics of the unlabelled rows, with ``share`` [M, K] as soft labels."""
        labels = Labels(share * self.weight[:, None], None)
        rows = LabelledRows(self.model.families, self.arrays, labels, share.shape[1])
        return from_host(rows)


class _Problem(NamedTuple):
    """``posterior`` is the model given only the labelled rows; ``constant`` does not depend on the parameters."""

    rows: Rows
    fit: Fit
    posterior: NaiveBayes
    constant: float


def fit_em(
    model: NaiveBayes,
    X: Any,
    y: Any,
    *,
    fit: Fit = fit_map,
    sample_weight: Any = None,
    unlabelled_weight: float = 1.0,
    key: Array | None = None,
    initial: PointEstimate | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
) -> EMEstimate:
    """The MLE or MAP from labelled and unlabelled rows by expectation maximisation: a local maximum near the start.

    EM starts from the exact posterior of the labelled rows. Their MLE or MAP could give an event probability 0, which
    EM would never change. The probability of classes without labelled rows is split among them at random. The prior is
    resolved from all rows, whatever their labels. If every row is labelled, the result is the closed form. If the model
    is wrong, unlabelled rows may make predictions worse, and more of them make that more likely; a small
    ``unlabelled_weight`` limits this: Cozman, Cohen and Cirelo, Semi-supervised learning of mixture models (2003).

    Args:
        model: The specification; declare num_classes if some classes do not occur in the labels.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], -1 for an unlabelled row.
        fit: ``fit_map`` or ``fit_mle``.
        sample_weight: Weights [N].
        unlabelled_weight: lambda in [0, 1], the weight of an unlabelled row relative to a labelled one.
        key: A ``jax.random.key``, needed if two or more classes have no labelled row.
        initial: Parameters of this model to start from instead.
        tolerance: EM has converged when an iteration changes the responsibilities by at most this Kullback-Leibler
            divergence in nats per row, which is a lower bound on the gain of the objective.
        max_iterations: The maximum number of iterations.

    Warns:
        UserWarning: if EM did not converge, or if no row is labelled: the model is then a mixture, and its class
            numbers are arbitrary.

    Raises:
        ValueError: if the data do not fit the model, for labels other than integers >= -1, an ``unlabelled_weight``
            outside [0, 1], a missing key, and inside a JAX transformation.
    """
    if fit not in (fit_map, fit_mle):
        raise ValueError(f"fit must be fit_map or fit_mle, got {getattr(fit, '__name__', fit)}")
    arguments.counts(max_iterations=max_iterations)
    _number("tolerance", tolerance, np.inf)
    _number("unlabelled_weight", unlabelled_weight, 1)
    if key is not None:
        arguments.key(key)
    if is_traced(X, y, sample_weight, model, key, initial):
        raise ValueError("fit_em cannot run inside a JAX transformation: call it with arrays whose values are known")
    rows = separate(model, X, y, sample_weight, float(unlabelled_weight), sparse=True)
    problem = _problem(rows, fit)
    params = _start(problem, key) if initial is None else _given(rows.model, initial)
    share, value = _expect(problem, params)
    trace, converged, fell = [value], False, False
    while not converged and len(trace) <= max_iterations:
        candidate = _maximise(problem, share)
        after, value = _expect(problem, candidate)
        fell = value < trace[-1] and not np.isclose(value, trace[-1], rtol=1e-9, atol=1e-6)
        if fell:
            break
        change = rel_entr(share, after).sum(axis=1) @ rows.weight
        converged = bool(change <= tolerance * rows.weight.sum())
        params, share = candidate, after
        trace.append(value)
    _warn(rows, converged, fell, len(trace) - 1)
    return EMEstimate(rows.model, params, np.array(trace), converged, len(trace) - 1)


def _problem(rows: Rows, fit: Fit) -> _Problem:
    exact = fit_posterior(rows.model, statistics=rows.labelled)
    base = np.broadcast_to(rows.model.row_base_measure(rows.arrays), rows.weight.shape)
    return _Problem(rows, fit, exact.model, float(exact.log_evidence + rows.weight @ base))


def _expect(problem: _Problem, params: Sites) -> tuple[Array, float]:
    """The responsibilities [M, K] of the unlabelled rows, and the objective."""
    rows = problem.rows
    joint = rows.model.log_likelihood(params, rows.arrays)
    impossible = 0.0 if joint.zeros is None else rows.weight @ joint.zeros.min(axis=1)
    value = LogProb(problem.constant + rows.weight @ logsumexp(joint.contenders()), impossible)
    # the labelled rows enter by Bayes' theorem: prior x likelihood = evidence x posterior, at any parameters
    value = value.times(finalise(log_prior, problem.posterior, params))
    if problem.fit is fit_mle:
        prior = finalise(log_prior, rows.model, params)
        value = value.times(LogProb(-prior.finite, -prior.zeros))
    sign = np.sign(np.round(value.zeros, 6))
    return joint.shares(), float(-sign * np.inf if sign else value.finite)


def _maximise(problem: _Problem, share: Array) -> Sites:
    rows = problem.rows
    statistics = merge(rows.labelled, rows.statistics(share)) if len(share) else rows.labelled
    return problem.fit(rows.model, statistics=statistics).params


def _start(problem: _Problem, key: Array | None) -> Sites:
    rows, unseen = problem.rows, problem.rows.labelled.class_counts == 0
    share = problem.posterior.log_predictive(rows.arrays).shares()
    if len(share) and unseen.sum() > 1:
        if key is None:
            raise ValueError(
                f"no labelled row tells the classes {unseen.nonzero()[0].tolist()} from each other, so they start at "
                "random: give key=jax.random.key(0), or initial=, the parameters to start from"
            )
        parts = jax.random.dirichlet(key, np.ones(unseen.sum()), share.shape[:1])
        share[:, unseen] = share[:, unseen].sum(axis=1, keepdims=True) * np.asarray(parts)
    return _maximise(problem, share)


def _given(model: NaiveBayes, initial: PointEstimate) -> Sites:
    if not isinstance(initial, PointEstimate):
        raise ValueError(f"initial must be a PointEstimate such as fit_map gives, got {type(initial).__name__}")
    return {site: np.asarray(value, np.float64) for site, value in arguments.params(model, initial.params).items()}


def has_unlabelled(y: Any) -> bool:
    """True if integer labels [N] contain a -1."""
    return np.ndim(y) == 1 and as_array(without_mask("y", y)).dtype.kind == "i" and bool((np.asarray(y) == -1).any())


def separate(
    model: NaiveBayes,
    X: Any,
    y: Any,
    sample_weight: Any,
    unlabelled_weight: float = 1.0,
    *,
    sparse: bool = False,
) -> Rows:
    """Separate labelled from unlabelled rows, on the host, and resolve the model from all of them.

    Raises:
        ValueError: if the data do not fit the model, and for labels other than integers >= -1.
    """
    arguments.model(model)
    arrays = to_host(check_shapes(model.families, model.single, X, model.columns, sparse=sparse))
    y = _integers(y, next(iter(arrays.values())).shape[0])
    weight = None if sample_weight is None else np.asarray(check_weights(sample_weight, len(y)))
    if weight is not None and not (weight > 0).all():
        keep = weight > 0
        arrays, y, weight = {b: x[keep] for b, x in arrays.items()}, y[keep], weight[keep]
    if (y < -1).any():
        raise ValueError(f"y holds {y.min()}, expected integers 0..K-1, or -1 where a row is unlabelled")
    seen, free = y >= 0, (y == -1) & (unlabelled_weight > 0)
    labels, num_classes = check_labels(y[seen], None if weight is None else weight[seen], seen.sum(), model.num_classes)
    labelled = from_host(LabelledRows(model.families, {b: x[seen] for b, x in arrays.items()}, labels, num_classes))
    # in float32 the objective could seem to fall
    others = {b: x[free].astype(np.float64 if x.dtype.kind == "f" else x.dtype) for b, x in arrays.items()}
    free_weight = unlabelled_weight * (np.ones(len(y)) if weight is None else weight)[free]
    rows = Rows(to_host(model), labelled, others, free_weight)
    if free.any():
        anywhere = np.eye(1, num_classes)
        labelled = merge(labelled, rows.statistics(np.repeat(anywhere, len(free_weight), axis=0)))
    return rows._replace(model=rows.model.resolve(statistics=labelled))


def _integers(y: Any, num_rows: int) -> Array:
    given = as_array(without_mask("y", y))
    if given.shape == (num_rows,) and given.dtype.kind in "iub":
        return np.asarray(given).astype(np.int64)
    check_labels(y, None, num_rows, None)  # raises for labels that no fit accepts
    raise ValueError("y must be integers [N], -1 where a row is unlabelled: soft labels are for the closed-form fits")


def _number(name: str, given: Any, largest: float) -> None:
    if isinstance(given, bool) or not isinstance(given, float | int | np.number) or not 0 <= given <= largest:
        raise ValueError(f"{name} is a number from 0 to {largest:g}, got {given!r}")


def _warn(rows: Rows, converged: bool, fell: bool, num_iterations: int) -> None:
    found = []
    if len(rows.weight) and not rows.labelled.class_counts.any():
        found.append(
            "no row is labelled: this is a mixture model, whose classes are clusters without names, in any order"
        )
    if fell:
        found.append(
            f"EM stopped after {num_iterations} iterations, where the objective would fall: a parameter has no maximum "
            "there, as with a concentration below 1 (give 1 or more) or with MultivariateNormal(smoothing=...)"
        )
    elif not converged:
        found.append(
            f"EM did not converge in {num_iterations} iterations: take more max_iterations, or a larger tolerance"
        )
    for sentence in found:
        warnings.warn(sentence, UserWarning, stacklevel=3)
