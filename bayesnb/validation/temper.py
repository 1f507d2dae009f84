"""Temper a posterior: powers on the features' likelihoods, learned on exact leave-one-out predictions.

Features that depend on each other within a class count the same evidence twice, which makes predictions overconfident.
Parameter uncertainty does not correct this; powers do:

    p(k | x)  is proportional to  p(k) prod_d p(x_d | k)^w_d

One power T for all features (an inverse temperature; the class prior stays) maximises the leave-one-out log likelihood
plus log N(log T; 0, 1). It is at most 1: if leave-one-out predicts all rows without error, the likelihood alone would
favour ever larger powers, which predict held-out rows worse.

One power per feature, w_d = T (1 + delta_d) >= 0 with delta_d ~ N(0, scale^2), is a multinomial logit whose covariates
are the leave-one-out evidence of the features, convex in delta at that T. The scale, at most 0.3, is the one with the
largest evidence by Laplace's approximation: with few rows it becomes small, whereas a fixed scale would overfit single
rows. Zaidi, Cerquides, Carman and Webb, Alleviating naive Bayes attribute independence assumption by attribute
weighting (2013), weight features similarly, but without leaving rows out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy  # scipy.optimize is loaded on first use
import scipy.special

from bayesnb.arrays.placement import Array, as_array, to_host
from bayesnb.arrays.threads import in_threads, one_blas_thread, row_blocks
from bayesnb.families.base import Family
from bayesnb.primitives import products
from bayesnb.results.classifier import Posterior
from bayesnb.rows import arguments
from bayesnb.rows.labelled_rows import LabelledRows, label_rows
from bayesnb.rows.statistics import summarise
from bayesnb.validation.leave_one_out import class_part

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


def temper(posterior: Posterior, X: Any, y: Any, *, per_feature: bool = False, sample_weight: Any = None) -> Posterior:
    """The same fit with one power, or one per feature, on the features' likelihoods; learned without held-out data.

    Args:
        posterior: An exact fit.
        X: The rows of that fit, in the same blocks.
        y: Their integer labels [N].
        per_feature: Learn a power for each feature around the common one. A Multinomial or MultivariateNormal block is
            one feature.
        sample_weight: Their weights [N], if the fit had any.

    Returns:
        A ``Posterior`` with ``weights``: by block [D], or [1] if the whole block has one power. The common power is at
        most 1; a feature's own power may be larger. Predictions use the powers; parameters, their draws, p(x) and the
        evidence are those of the model.

    Raises:
        ValueError: if X, y and sample_weight are not the fitted rows, for soft labels, and in a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag] * 4 for flag in (0, 0, 1, 1, 1, 0)], [0, 0, 0, 1, 1, 1]  # one column, four times
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> [fit.predict_proba([[1] * 4]).round(2) for fit in (post, nb.temper(post, X, y))]
        [array([[0.16, 0.84]]), array([[0.38, 0.62]])]
    """
    if not isinstance(posterior, Posterior):
        raise ValueError(f"temper takes a Posterior, as fit_posterior returns, got {type(posterior).__name__}")
    arguments.require_known("temper", posterior, X, y, sample_weight)
    if as_array(y).ndim == 2:
        raise ValueError("temper takes integer labels [N]: a row with soft labels belongs to every class")
    rows = label_rows(posterior.model, *to_host((X, y, sample_weight)), sparse=False)
    _require_fitted(posterior, rows)
    table = _left_out_evidence(posterior, rows, by_feature=per_feature)
    with one_blas_thread():
        temperature = _temperature(table)
        powers = temperature * (1.0 + _deviations(table, temperature)) if per_feature else None
    if powers is None:
        return replace(posterior, weights={name: np.full(1, temperature) for name in table.sizes})
    by_block = np.split(powers, np.cumsum(list(table.sizes.values()))[:-1])
    return replace(posterior, weights=dict(zip(table.sizes, by_block, strict=True)))


class _LeftOutEvidence(NamedTuple):
    """log p(k, x_i | D without i) = prior_ik + sum_f evidence_ikf, all relative to the row's own class.

    ``prior`` [N, K]; ``evidence`` [N, K, F]; ``weight`` [N] of the rows; ``sizes``, the number of features by block.
    """

    prior: Array
    evidence: Array
    weight: Array
    sizes: dict[str, int]

    def loss(self, powers: Array) -> tuple[float, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], and its gradient [F]."""

        def part(rows: slice) -> tuple[float, Array]:
            probs, log_sum = self._probs(rows, powers)
            gradient = np.einsum("nk,nkf->f", self.weight[rows, None] * probs, self.evidence[rows], optimize=True)
            return float(self.weight[rows] @ log_sum), gradient

        parts = in_threads(part, self._blocks())
        return sum(loss for loss, _ in parts), np.sum([gradient for _, gradient in parts], axis=0)

    def information(self, powers: Array) -> Array:
        """Eigenvalues of the loss's Hessian in the powers; zeros may be left out."""
        num_rows, num_classes, num_features = self.evidence.shape
        # S S' has the nonzero eigenvalues of the Hessian S' S, and is smaller if features outnumber rows
        wide = num_features > num_rows * num_classes

        def part(rows: slice) -> Array:
            probs, _ = self._probs(rows, powers)
            mean = np.einsum("nk,nkf->nf", probs, self.evidence[rows], optimize=True)
            root = np.sqrt(self.weight[rows, None] * probs)[:, :, None]
            spread = (root * (self.evidence[rows] - mean[:, None])).reshape(probs.size, num_features)
            return spread if wide else spread.T @ spread

        parts = in_threads(part, self._blocks())
        spread = np.concatenate(parts) if wide else None
        product = np.sum(parts, axis=0) if spread is None else spread @ spread.T
        return np.maximum(np.linalg.eigvalsh(product), 0.0)

    def _probs(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        joint = self.prior[rows] + self.evidence[rows] @ powers
        log_sum = scipy.special.logsumexp(joint, axis=1)
        return np.exp(joint - log_sum[:, None]), log_sum

    def _blocks(self) -> Any:
        num_rows, num_classes, num_features = self.evidence.shape
        return row_blocks(num_rows, self.evidence.itemsize * num_classes * max(num_features, 1))


def _left_out_evidence(posterior: Posterior, rows: LabelledRows, *, by_feature: bool) -> _LeftOutEvidence:
    """The leave-one-out evidence of the fitted rows, in numpy; without ``by_feature`` each block is one feature."""
    rows = rows.counted()
    own, weight = rows.labels.y, rows.weight()
    blocks = {}
    for name, family in posterior.prior.families.items():
        statistics, cells = posterior.statistics.blocks[name], (rows.arrays[name], own, weight)
        blocks[name] = (
            products.by_rows(_left_out_terms, (family, statistics), cells)
            if by_feature
            else family.leave_one_out(statistics, *cells)[..., None]
        )
    sizes = {name: block.shape[2] for name, block in blocks.items()}
    shape = weight.size, rows.num_classes, sum(sizes.values())
    evidence = np.empty(shape, np.float64 if 8 * np.prod(shape) <= DOUBLE_BYTES else np.float32)
    start = 0
    for name, block in blocks.items():
        of_own = np.take_along_axis(block, own[:, None, None], axis=1)
        np.subtract(block, of_own, out=evidence[:, :, start : start + sizes[name]], casting="same_kind")
        start += sizes[name]
    prior = class_part(posterior, own, weight)
    return _LeftOutEvidence(prior - np.take_along_axis(prior, own[:, None], axis=1), evidence, weight, sizes)


@jax.jit
def _left_out_terms(family: Family, statistics: Any, rows: Any) -> Array:
    return family.leave_one_out_terms(statistics, *rows)


def _require_fitted(posterior: Posterior, rows: LabelledRows) -> None:
    """Raise ValueError unless the rows have the statistics of the fit, up to rounding."""
    flat: list[Any] = [jax.tree.flatten(one) for one in (summarise(rows), to_host(posterior.statistics))]
    (again, structure), (fitted, structure_of_fit) = flat

    def close(a: Array, b: Array) -> bool:
        return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(np.abs(b).max(initial=0.0)))

    if structure != structure_of_fit or not all(map(close, again, fitted)):
        raise ValueError(
            "X, y and sample_weight must be the rows that the posterior was fitted to, and their statistics differ: "
            "if rows were fitted in parts, give them all together"
        )


def _temperature(table: _LeftOutEvidence) -> float:
    """The power T that all features share."""
    evidence = table.evidence.sum(axis=2, dtype=np.float64)

    def loss(log_t: float) -> float:
        # the own class has 0, so its log probability is minus the logsumexp over classes
        log_sum = scipy.special.logsumexp(table.prior + np.exp(log_t) * evidence, axis=1)
        return float(table.weight @ log_sum) + 0.5 * log_t * log_t

    options = {"xatol": 1e-8}
    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=LOG_TEMPERATURES, options=options).x))


def _deviations(table: _LeftOutEvidence, temperature: float) -> Array:
    """delta [F] at the scale with the largest evidence."""
    if not table.evidence.shape[2]:
        return np.zeros(0)
    found = [_at_scale(table, temperature, scale) for scale in SCALES]
    return max(found, key=lambda pair: pair[0])[1]


def _at_scale(table: _LeftOutEvidence, temperature: float, scale: float) -> tuple[float, Array]:
    """The log evidence of a scale by Laplace's approximation, up to a constant, and the mode of delta under it."""

    def loss(delta: Array) -> tuple[float, Array]:
        value, gradient = table.loss(temperature * (1.0 + delta))
        return value + 0.5 * float(delta @ delta) / scale**2, temperature * gradient + delta / scale**2

    size = table.evidence.shape[2]
    bounds = scipy.optimize.Bounds(np.full(size, -1.0), np.full(size, np.inf))
    best = scipy.optimize.minimize(loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=bounds)
    curvature = temperature**2 * scale**2 * table.information(temperature * (1.0 + best.x))
    return -float(best.fun) - 0.5 * float(np.log1p(curvature).sum()), best.x
