"""Temper a posterior: powers on the features' likelihoods, learned on exact leave-one-out predictions.

Features that depend on each other within a class count the same evidence twice, which makes predictions overconfident.
Parameter uncertainty does not correct this; powers do:

    p(k | x)  is proportional to  p(k) prod_d p(x_d | k)^w_d

`bayesnb compare` calls this its methods `tempered` and `feature weights`.

One power T for all features (an inverse temperature; the class prior stays) maximises the leave-one-out log likelihood
plus log N(log T; 0, 1). It is at most 1: rows that leave-one-out predicts without error would favour ever larger ones.

One power per feature, w_d = T (1 + delta_d) >= 0 with delta_d ~ N(0, scale^2), is a multinomial logit whose covariates
are the leave-one-out evidence of the features, convex in delta at that T. The scale, at most 1, has the largest
evidence by Laplace's approximation: with few rows it becomes small, and single rows are not overfitted. Zaidi,
Cerquides, Carman and Webb, Alleviating naive Bayes attribute independence assumption by attribute weighting (2013),
weight features similarly, but without leaving rows out.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy  # scipy.optimize is loaded on first use

from bayesnb.arrays.placement import Array, as_array, to_host
from bayesnb.arrays.threads import in_threads, one_blas_thread, row_blocks
from bayesnb.families.base import Family
from bayesnb.frames.classes import codes_among, plain_labels
from bayesnb.primitives import products
from bayesnb.results.classifier import Posterior
from bayesnb.rows import arguments
from bayesnb.rows.labelled_rows import LabelledRows, label_rows
from bayesnb.rows.statistics import summarise
from bayesnb.validation.leave_one_out import class_part

LOG_TEMPERATURES = (-12.0, 0.0)
"""Bounds of log T, whose prior has standard deviation 1: the common power never makes the model more confident."""

SCALES = (1.0, 0.3, 0.2, 0.1, 0.03)
"""The standard deviations of delta that are compared by evidence."""

MOST_ROWS = 20_000
"""Powers are learned on at most this many rows. F powers learned from N rows cost about F / (2 N) nats a new row."""

TOO_LOW = 20.0
"""Nats of evidence that a scale may lose against the first before smaller ones are left out."""

MOST_NEWTON = 500
"""The most features for which the loss's matrix of second derivatives is computed."""

MOST_STEPS, SMALLEST_GAIN = 50, 1e-4
"""Newton's steps, and the gain in nats predicted for a step that is the last one."""

DOUBLE_BYTES = 1 << 28
"""Tables larger than this in float64 are stored in float32."""


def temper(posterior: Any, X: Any, y: Any, *, per_feature: bool = False, sample_weight: Any = None) -> Any:
    """The same fit with one power, or one per feature, on the features' likelihoods; learned without held-out data.

    X, y (integers) and sample_weight are the rows of ``posterior``, an exact fit. With ``per_feature`` each feature has
    a power around the common one; a Multinomial or MultivariateNormal block is one feature. The ``weights`` of the
    result are by block [D], or [1] if the whole block has one power. The common power is at most 1; a feature's own may
    be larger. Predictions use the powers; parameters, their draws, p(x) and the evidence are those of the model. For a
    fitted ``NaiveBayesClassifier``, whose argument ``temper`` does this as it fits, y are labels of its own, and the
    result is a copy of it.

    Of more than 20,000 rows, the powers are learned on every second, third, ... of each class, so that 10,000 to 20,000
    remain; each is left out of the fit to all rows.

    Raises:
        ValueError: if X, y and sample_weight are not the fitted rows, for soft labels, and in a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag] * 4 for flag in (0, 0, 1, 1, 1, 0)], [0, 0, 0, 1, 1, 1]  # one column, four times
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> [fit.predict_proba([[1] * 4]).round(2) for fit in (post, nb.temper(post, X, y))]
        [array([[0.16, 0.84]]), array([[0.38, 0.62]])]
    """
    if hasattr(posterior, "encoded"):
        return _temper_classifier(posterior, X, y, per_feature, sample_weight)
    if not isinstance(posterior, Posterior):
        raise ValueError(
            f"temper takes a Posterior, as fit_posterior returns, got {type(posterior).__name__}; a "
            "NaiveBayesClassifier needs method 'posterior' or 'empirical'"
        )
    arguments.require_known("temper", posterior, X, y, sample_weight)
    if as_array(y).ndim == 2:
        raise ValueError("temper takes integer labels [N]: a row with soft labels belongs to every class")
    rows = label_rows(posterior.model, *to_host((X, y, sample_weight)), sparse=False)
    _require_fitted(posterior, rows)
    table = _left_out_evidence(posterior, rows, by_feature=per_feature)
    with one_blas_thread():
        powers = np.full(table.evidence.shape[2], _temperature(table))
        if per_feature and powers.size:
            powers *= 1.0 + _deviations(table, powers[0])
    by_block = np.split(powers, np.cumsum(list(table.sizes.values()))[:-1])
    return replace(posterior, weights=dict(zip(table.sizes, by_block, strict=True)))


def _temper_classifier(classifier: Any, X: Any, y: Any, per_feature: bool, sample_weight: Any) -> Any:
    encoded = classifier.encoded(X)
    codes = codes_among(classifier.classes_, plain_labels(y))
    tempered = copy(classifier)
    tempered.fit_ = temper(classifier.fit_, encoded, codes, per_feature=per_feature, sample_weight=sample_weight)
    tempered.temper = "per_feature" if per_feature else True
    return tempered


class _LeftOutEvidence(NamedTuple):
    """log p(k, x_i | D without i) / p(y_i, x_i | D without i) = prior_ik + sum_f evidence_ikf, for all k but y_i.

    ``prior`` [N, K-1]; ``evidence`` [N, K-1, F]; ``weight`` [N] of the rows, those of rows that are not in the table
    included; ``sizes``, the number of features by block.
    """

    prior: Array
    evidence: Array
    weight: Array
    sizes: dict[str, int]

    def loss(self, powers: Array) -> tuple[float, Array]:
        """-sum_i weight_i log p(y_i | x_i) under powers [F], and its gradient [F]."""

        def part(rows: slice) -> tuple[float, Array]:
            probs, nats = self._probs(rows, powers)
            gradient = (self.weight[rows, None] * probs).ravel() @ self._flat(rows)
            return float(self.weight[rows] @ nats), gradient

        parts = in_threads(part, self._blocks())
        return sum(loss for loss, _ in parts), np.sum([gradient for _, gradient in parts], axis=0)

    def hessian(self, powers: Array) -> Array:
        """The matrix of the loss's second derivatives in the powers, [F, F]."""

        def part(rows: slice) -> Array:
            spread, mean = self._spread(rows, powers)
            return spread.T @ spread - mean.T @ mean

        return np.sum(in_threads(part, self._blocks()), axis=0, dtype=np.float64)

    def information(self, powers: Array) -> Array:
        """Eigenvalues of that matrix; zeros may be left out."""
        num_rows, num_others, num_features = self.evidence.shape
        if num_features <= num_rows * (num_others + 1):
            return np.maximum(np.linalg.eigvalsh(self.hessian(powers)), 0.0)
        # S S' has the nonzero eigenvalues of S' S; S has a row for each class, with evidence about the mean
        probs, _ = self._probs(slice(None), powers)
        mean = np.einsum("nk,nkf->nf", probs, self.evidence)[:, None]
        own = 1.0 - probs.sum(axis=1, keepdims=True)
        root = np.sqrt(self.weight[:, None] * np.concatenate([probs, np.maximum(own, 0.0)], axis=1))[:, :, None]
        spread = (root * np.concatenate([self.evidence - mean, -mean], axis=1)).reshape(-1, num_features)
        return np.maximum(np.linalg.eigvalsh(spread @ spread.T), 0.0)

    def _probs(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        """The probabilities of the other classes, [N, K-1], and -log p(y_i | x_i), [N]."""
        return _softmax(self.prior[rows] + self.evidence[rows] @ powers)

    def _spread(self, rows: slice, powers: Array) -> tuple[Array, Array]:
        """Two matrices S [N (K-1), F] and M [N, F]: the second derivatives are S' S - M' M."""
        probs, _ = self._probs(rows, powers)
        weight, kind = self.weight[rows, None], self.evidence.dtype
        spread = np.sqrt(weight * probs).astype(kind).reshape(-1, 1) * self._flat(rows)
        mean = np.einsum("nk,nkf->nf", (np.sqrt(weight) * probs).astype(kind), self.evidence[rows])
        return spread, mean

    def _flat(self, rows: slice) -> Array:
        return self.evidence[rows].reshape(-1, self.evidence.shape[2])

    def _blocks(self) -> Any:
        num_rows, num_others, num_features = self.evidence.shape
        return row_blocks(num_rows, self.evidence.itemsize * max(num_others * num_features, 1))


def _softmax(joint: Array) -> tuple[Array, Array]:
    """The probabilities of classes with these log odds against a row's own [N, K-1], and -log of its own, [N]."""
    highest = joint.max(axis=1, initial=0.0, keepdims=True)
    shares = np.exp(joint - highest)
    total = np.exp(-highest) + shares.sum(axis=1, keepdims=True)
    return shares / total, (highest + np.log(total))[:, 0]


def _left_out_evidence(posterior: Posterior, rows: LabelledRows, *, by_feature: bool) -> _LeftOutEvidence:
    """The leave-one-out evidence of the fitted rows, in numpy; without ``by_feature`` each block is one feature."""
    rows = rows.counted()
    every = max(-(-rows.num_rows // MOST_ROWS), 1)
    total = rows.weight().sum()
    if every > 1:  # of each class alike, whatever the order of the rows
        rows = rows.select(np.sort(np.argsort(rows.labels.y, kind="stable")[::every]))
    own, weight = rows.labels.y, rows.weight()
    blocks = {}
    for name, family in posterior.prior.families.items():
        statistics, cells = posterior.statistics.blocks[name], (rows.arrays[name], own, weight)
        if by_feature:
            blocks[name] = products.by_rows(_left_out_terms, (family, statistics), cells)
        else:
            blocks[name] = family.leave_one_out(statistics, *cells)[..., None]
    sizes = {name: block.shape[2] for name, block in blocks.items()}
    others = np.arange(rows.num_classes - 1)[None, :] + (np.arange(rows.num_classes - 1) >= own[:, None])
    shape = (*others.shape, sum(sizes.values()))
    evidence = np.empty(shape, np.float64 if 8 * np.prod(shape) <= DOUBLE_BYTES else np.float32)
    each, start = np.arange(own.size), 0
    for name, block in blocks.items():
        out = evidence[:, :, start : start + sizes[name]]
        np.subtract(block[each[:, None], others], block[each, own][:, None], out=out, casting="same_kind")
        start += sizes[name]
    prior = class_part(posterior, own, weight)
    prior = prior[each[:, None], others] - prior[each, own][:, None]
    return _LeftOutEvidence(prior, evidence, weight * (total / weight.sum()), sizes)


@jax.jit
def _left_out_terms(family: Family, statistics: Any, rows: Any) -> Array:
    return family.leave_one_out_terms(statistics, *rows)


def _require_fitted(posterior: Posterior, rows: LabelledRows) -> None:
    """ValueError unless the rows have the statistics of the fit, up to rounding."""
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
        _, nats = _softmax(table.prior + np.exp(log_t) * evidence)
        return float(table.weight @ nats) + 0.5 * log_t * log_t

    options = {"xatol": 1e-8}
    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=LOG_TEMPERATURES, options=options).x))


def _deviations(table: _LeftOutEvidence, temperature: float) -> Array:
    """delta [F] at the scale with the largest evidence."""
    delta, found = np.zeros(table.evidence.shape[2]), []
    for scale in SCALES:
        score, delta = _at_scale(table, temperature, scale, delta)
        found.append((score, delta))
        if score < found[0][0] - TOO_LOW:
            break
    return max(found, key=lambda pair: pair[0])[1]


def _at_scale(table: _LeftOutEvidence, temperature: float, scale: float, start: Array) -> tuple[float, Array]:
    """The log evidence of a scale by Laplace's approximation, up to a constant, and the mode of delta under it."""

    def loss(delta: Array) -> tuple[float, Array]:
        value, gradient = table.loss(temperature * (1.0 + delta))
        return value + 0.5 * float(delta @ delta) / scale**2, temperature * gradient + delta / scale**2

    def hessian(delta: Array) -> Array:
        return temperature**2 * table.hessian(temperature * (1.0 + delta)) + np.eye(len(delta)) / scale**2

    if len(start) <= MOST_NEWTON:
        value, mode, curvature = _newton(loss, hessian, start)
        return -value - 0.5 * float(np.linalg.slogdet(scale**2 * curvature)[1]), mode
    bounds = scipy.optimize.Bounds(np.full(len(start), -1.0), np.full(len(start), np.inf))
    best = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    information = temperature**2 * scale**2 * table.information(temperature * (1.0 + best.x))
    return -float(best.fun) - 0.5 * float(np.log1p(information).sum()), best.x


def _newton(
    loss: Callable[[Array], tuple[float, Array]], hessian: Callable[[Array], Array], delta: Array
) -> tuple[float, Array, Array]:
    """The minimum of a convex loss over delta >= -1, the mode, and the second derivatives near it.

    Newton's method on the features that are not held at the bound; Bertsekas, Projected Newton methods (1982).
    """
    value, gradient = loss(delta)
    for _ in range(MOST_STEPS):
        curvature, free = hessian(delta), ~((delta <= -1.0) & (gradient > 0.0))
        step = np.zeros_like(delta)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        gain, length = 0.5 * float(gradient @ step), 1.0
        while True:
            moved = np.maximum(delta - length * step, -1.0)
            new, slope = loss(moved)
            if new <= value - 1e-4 * float(gradient @ (delta - moved)) or length < 1e-6:
                break
            length *= 0.5
        value, gradient, delta = (new, slope, moved) if new <= value else (value, gradient, delta)
        if gain < SMALLEST_GAIN or length < 1e-6:
            break
    return value, delta, curvature
