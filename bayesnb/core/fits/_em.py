"""Expectation maximisation: the MLE or the MAP from labelled and unlabelled rows together.

    log p(labelled rows | params) + lambda sum over unlabelled rows of log sum_k p(y = k, x | params) [+ log p(params)]

E-step: responsibilities p(y = k | x, params) of the unlabelled rows. M-step: the closed-form fit from the statistics
of the labelled rows, summed once, merged with those of the unlabelled rows under these soft labels times lambda.
Dempster, Laird and Rubin, Maximum likelihood from incomplete data via the EM algorithm (1977), section 3; Nigam et
al., Text classification from labeled and unlabeled documents using EM (2000), sections 5.2 and 5.3.2 (EM-lambda).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import singledispatch
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro import handlers
from scipy.special import rel_entr

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import allow_promotion, as_array, pytree, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.compute.numerics._covariances import proper, variances
from bayesnb.compute.numerics._log_prob import LogProb, logsumexp
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.families import Histogram, Mapped
from bayesnb.core.families._views import generative
from bayesnb.core.fits._closed_form import fit_map, fit_mle, fit_posterior, require_fit
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import PointEstimate
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, follow, from_host


@pytree
class EMEstimate(PointEstimate):
    """The parameters that EM found, with its history.

    ``log_posterior`` [T + 1] is the objective at the start and after each of T iterations: the log posterior density,
    or the log likelihood for an MLE; it never falls. It is -inf if a row is impossible, and inf if the prior's density
    is unbounded there, as on the boundary with a concentration below 1.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> X, y = [[0.0], [0.5], [4.0], [4.5], [0.2], [4.2]], [0, 0, 1, 1, -1, -1]
        >>> fit = nb.fit_em(nb.NaiveBayes(nb.Normal()), X, y)
        >>> fit.converged, len(fit.log_posterior) == fit.num_iterations + 1
        (True, True)
        >>> bool((np.diff(fit.log_posterior) >= -1e-9).all())  # it never falls
        True
    """

    log_posterior: Array
    converged: bool = field(metadata={"static": True})
    num_iterations: int = field(metadata={"static": True})

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same parameters for a population with these class probabilities [K]; ``log_posterior`` is unchanged."""
        other = PointEstimate.trust(self.model, self.params).with_class_probs(class_probs)
        return replace(self, model=other.model, params=other.params)


class SplitRows(NamedTuple):
    """Partly labelled rows: the resolved model, the statistics of the labelled rows, and the unlabelled rows.

    ``arrays`` are the unlabelled rows by block, [M, D], and ``weight`` [M] their sample weights.
    """

    model: NaiveBayes
    labelled: ModelStatistics
    arrays: dict[str, Array]
    weight: Array

    def merge_statistics(self, share: Array) -> ModelStatistics:
        """The statistics of all rows, with ``share`` [M, K] as soft labels of the unlabelled rows; no base measure."""
        if not len(share):
            return self.labelled
        labels = Labels(share * self.weight[:, None], None)
        unlabelled = LabelledRows(self.model.families, self.arrays, labels, share.shape[1])
        return self.labelled.merge(from_host(unlabelled, evidence=False))


class _Problem(NamedTuple):
    """``posterior`` is the model given the labelled rows; ``constant`` is the evidence and base measure of all rows."""

    rows: SplitRows
    fit: Callable[..., PointEstimate]
    posterior: NaiveBayes
    constant: float

    def expect(self, params: Sites) -> tuple[Array, float]:
        """The responsibilities [M, K] of the unlabelled rows, and the objective."""
        rows = self.rows
        joint = rows.model.log_likelihood(params, rows.arrays)
        impossible = 0.0 if joint.zeros is None else rows.weight @ joint.zeros.min(axis=1)
        value = LogProb(self.constant + rows.weight @ logsumexp(joint.contenders()), impossible)
        # the labelled rows enter by Bayes' theorem: prior x likelihood = evidence x posterior, at any parameters
        value = value.times(compute(_log_prior, self.posterior, params))
        if self.fit is fit_mle:
            prior = compute(_log_prior, rows.model, params)
            value = value.times(LogProb(-prior.finite, -prior.zeros))
        # exponents of 0 are sums of weights, so they cancel only up to rounding
        sign = np.sign(np.round(value.zeros, 6))
        return joint.shares(), float(-sign * np.inf if sign else value.finite)

    def maximise(self, share: Array) -> Sites:
        return self.fit(self.rows.model, statistics=self.rows.merge_statistics(share)).params

    def start(self, key: Array | None) -> Sites:
        """Parameters from the exact predictive of the labelled rows; unseen classes divide their share at random."""
        unseen = self.rows.labelled.class_counts == 0
        share = self.posterior.log_predictive(self.rows.arrays).shares()
        if len(share) and unseen.sum() > 1:
            if key is None:
                raise ValueError(
                    f"the classes {unseen.nonzero()[0].tolist()} have no labelled rows, so EM starts from random "
                    "responsibilities: give key=jax.random.key(0), or initial=, the parameters to start from"
                )
            parts = jax.random.dirichlet(key, np.ones(unseen.sum()), share.shape[:1])
            share[:, unseen] = share[:, unseen].sum(axis=1, keepdims=True) * np.asarray(parts)
        return self.maximise(share)


def fit_em(
    model: NaiveBayes,
    X: Rows,
    y: LabelsLike,
    *,
    fit: Callable[..., PointEstimate] = fit_map,
    sample_weight: ArrayLike | None = None,
    unlabelled_weight: float = 1.0,
    key: Array | None = None,
    initial: PointEstimate | None = None,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
) -> EMEstimate:
    """The MLE or MAP from labelled and unlabelled rows by expectation maximisation: a local maximum near the start.

    EM starts from the exact posterior of the labelled rows: their MLE or MAP could give an event probability 0, which
    EM would never change. Classes without labelled rows share theirs at random. The prior is resolved from all rows. If
    every row is labelled, it is the closed form. If the model is wrong, unlabelled rows may do harm, which a small
    weight limits: Cozman et al., Semi-supervised learning of mixture models (2003). The rest is as in ``fit_mle``.

    Args:
        model: The specification; declare num_classes if some classes do not occur in the labels.
        y: Integers 0..K-1 [N], -1 for an unlabelled row.
        fit: ``fit_map`` or ``fit_mle``.
        unlabelled_weight: lambda in [0, 1], the weight of an unlabelled row relative to a labelled one.
        key: A ``jax.random.key``, needed if two or more classes have no labelled row.
        initial: Parameters of this model to start from instead.
        tolerance: EM has converged when an iteration changes the responsibilities by at most this Kullback-Leibler
            divergence in nats per row, which is a lower bound on the gain of the objective.
        max_iterations: The maximum number of iterations.

    Warns:
        UserWarning: if EM did not converge, or no row is labelled: class numbers are then arbitrary, as in a mixture.

    Raises:
        ValueError: if the data do not fit the model, for labels other than integers >= -1, an ``unlabelled_weight``
            outside [0, 1], a missing key, the MAP of a family with discrete sites, and inside a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [7.0], [1.0], [3.0], [7.0], [9.0]], [0, 1, -1, -1, -1, -1]
        >>> nb.fit_em(nb.NaiveBayes(nb.NormalKnownVariance(0.1)), X, y, fit=nb.fit_mle).params["x_loc"].round(2)
        array([[1.67],
               [7.67]])
    """
    arguments.check_model(model)
    require_fit(fit, fit_map, fit_mle)
    if fit is fit_map:
        refuse_discrete(
            model,
            "MAP is the best of discrete cases, which EM cannot climb to: give fit=nb.fit_mle (of the "
            "estimator: method='mle'), or columns that are 'normal', or 'categorical' in place of 'ordered'",
        )
    arguments.check_counts(max_iterations=max_iterations)
    for name, given, most in (("tolerance", tolerance, np.inf), ("unlabelled_weight", unlabelled_weight, 1.0)):
        if isinstance(given, bool) or not isinstance(given, float | int | np.number) or not 0 <= given <= most:
            raise ValueError(f"{name} must be a number from 0 to {most:g}, got {given!r}")
    if key is not None:
        arguments.check_key(key)
    if not isinstance(initial, PointEstimate | None):
        raise ValueError(f"initial must be a PointEstimate such as fit_map gives, got {type(initial).__name__}")
    arguments.require_known("fit_em", X, y, sample_weight, model, key, initial)
    rows = separate(model, X, y, sample_weight, float(unlabelled_weight), sparse=True)
    specification = rows.model
    if fit is fit_mle:  # which ignores priors
        rows = rows._replace(model=specification.conjugate())
    exact = fit_posterior(rows.model, statistics=rows.labelled)
    base = np.broadcast_to(rows.model.row_base_measure(rows.arrays), rows.weight.shape)
    problem = _Problem(rows, fit, exact.model, float(exact.log_evidence + rows.weight @ base))
    if initial is None:
        params = problem.start(key)
    else:
        sites = arguments.check_params(rows.model, initial.params)
        params = {site: np.asarray(value, np.float64) for site, value in sites.items()}
    share, value = problem.expect(params)
    trace, converged, fell = [value], False, False
    while not converged and len(trace) <= max_iterations:
        candidate = problem.maximise(share)
        after, value = problem.expect(candidate)
        fell = value < trace[-1] and not np.isclose(value, trace[-1], rtol=1e-9, atol=1e-6)
        if fell:
            break
        change = rel_entr(share, after).sum(axis=1) @ rows.weight
        converged = bool(change <= tolerance * rows.weight.sum())
        params, share = candidate, after
        trace.append(value)
    _warn(rows, converged, fell, len(trace) - 1)
    return EMEstimate(specification, params, np.array(trace), converged, len(trace) - 1)


def refuse_discrete(model: NaiveBayes, obstacle: str) -> None:
    """ValueError if a family has discrete sites, such as the cuts of a Histogram; ``obstacle`` ends the message."""
    for name, family in model.families.items():
        if _has_discrete_sites(generative(family)):
            raise ValueError(f"block {name!r} is {type(family).__name__}, whose {obstacle}")


@singledispatch
def _has_discrete_sites(family: Any) -> bool:
    """True if the program has discrete sites besides the label: neither gradients nor EM's MAP can move them."""
    del family
    return False


_has_discrete_sites.register(Histogram, lambda _: True)
_has_discrete_sites.register(Mapped, lambda family: _has_discrete_sites(family.parts[0]))


def has_unlabelled(y: Any) -> bool:
    """True if integer labels [N] contain a -1."""
    return np.ndim(y) == 1 and as_array(y, "y").dtype.kind == "i" and bool((np.asarray(y) == -1).any())


def separate(
    model: NaiveBayes, X: Any, y: Any, sample_weight: Any, unlabelled_weight: float = 1.0, *, sparse: bool = False
) -> SplitRows:
    """Labelled rows as statistics and unlabelled rows, on the host; errors as in ``fit_em``."""
    X, sample_weight = to_host((X, sample_weight))
    y = None if y is None else np.asarray(as_array(y, "y"))
    signed = y is not None and y.dtype.kind == "i"
    rows = label_rows(model, X, np.maximum(y, 0) if signed else y, sample_weight, sparse=sparse)
    if rows.labels.soft:
        raise ValueError("y must be integers [N], -1 for an unlabelled row: soft labels are for the closed-form fits")
    y, rows = y[rows.weight() > 0], rows.drop_unused()
    if (y < -1).any():
        raise ValueError(f"y holds {y.min()}, expected integers 0..K-1, or -1 for an unlabelled row")
    if model.num_classes is None and not (y >= 0).any():
        raise ValueError("without labelled rows the number of classes must be declared: NaiveBayes(..., num_classes=K)")
    unlabelled = rows.select((y == -1) & (unlabelled_weight > 0))
    # in float32 the objective could seem to fall
    arrays = {b: x.astype(np.float64) if x.dtype.kind == "f" else x for b, x in unlabelled.arrays.items()}
    labelled = from_host(rows.select(y >= 0))
    model = follow(to_host(model), labelled)
    found = SplitRows(model, labelled, arrays, unlabelled_weight * unlabelled.weight())
    any_class = np.repeat(np.eye(1, rows.num_classes), unlabelled.num_rows, axis=0)
    return found._replace(model=found.model.resolve(statistics=found.merge_statistics(any_class)))


def _warn(rows: SplitRows, converged: bool, fell: bool, num_iterations: int) -> None:
    if len(rows.weight) and not rows.labelled.class_counts.any():
        warn("no row is labelled: the model is a mixture, whose class numbers are arbitrary")
    if fell:
        warn(
            f"EM stopped after {num_iterations} iterations, because the objective would fall: a parameter has no "
            "maximum, as with a concentration below 1 (give 1 or more) or with MultivariateNormal(smoothing=...)"
        )
    elif not converged:
        warn(f"EM did not converge in {num_iterations} iterations: increase max_iterations or tolerance")


@jax.jit
def _log_prior(model: NaiveBayes, params: Sites) -> LogProb:
    """log p(params) under a resolved model, by NumPyro, with zero variances, of constant columns, replaced."""

    def proper_value(site: dict[str, Any]) -> Any:
        value: Any = params.get(site["name"])
        if isinstance(site.get("fn"), dist.InverseGamma):
            return jnp.where(value == 0, 1.0, value)
        return proper(value, variances(value) > 0) if isinstance(site.get("fn"), dist.InverseWishart) else value

    with allow_promotion():
        trace = handlers.trace(handlers.substitute(model.params, substitute_fn=proper_value)).get_trace()
        parts = [_density(site["fn"], site["value"]) for site in trace.values() if site["type"] == "sample"]
    return LogProb(sum(p.finite for p in parts), sum(p.zeros for p in parts))


def _density(distribution: Any, value: Array) -> LogProb:
    """A site's density as 0^zeros exp(finite): on the boundary, ``zeros`` is the exponent of the distance to it.

    The boundary is that of a simplex, or a rate of 0. The density is unbounded if the exponent is negative.
    """
    if isinstance(distribution, dist.Beta):
        value = jnp.stack([value, 1.0 - value], axis=-1)
        distribution = dist.Dirichlet(jnp.stack([distribution.concentration1, distribution.concentration0], axis=-1))
    if not isinstance(distribution, dist.Dirichlet | dist.Gamma):
        return LogProb(distribution.log_prob(value).sum(), jnp.zeros(()))
    near = jnp.finfo(value.dtype).tiny
    power = jnp.where(value == 0, distribution.concentration - 1.0, 0.0).sum()
    return LogProb(distribution.log_prob(jnp.where(value == 0, near, value)).sum() - power * jnp.log(near), power)
