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

from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from bayesnb.arrays.placement import as_array
from bayesnb.arrays.threads import one_blas_thread
from bayesnb.arrays.typing import ArrayLike, Estimator, LabelsLike, Table
from bayesnb.frames.classes import codes_among, plain_labels
from bayesnb.results.classifier import Posterior
from bayesnb.results.forests import ForestPosterior
from bayesnb.rows import arguments
from bayesnb.validation.leave_one_out import fitted_rows
from bayesnb.validation.left_out_evidence import left_out_evidence
from bayesnb.validation.powers import learn_deviations, learn_temperature

Fit = TypeVar("Fit", bound=Posterior | ForestPosterior | Estimator)


def temper(
    posterior: Fit, X: Table, y: LabelsLike, *, per_feature: bool = False, sample_weight: ArrayLike | None = None
) -> Fit:
    """The same fit with one power, or one per feature, on the features' likelihoods; learned without held-out data.

    The ``weights`` of the result are by block, [D] or [V D], or [1] if the whole block has one power. The common power
    is at most 1; a feature's own may be larger. Predictions use the powers; parameters, their draws, p(x) and the
    evidence are those of the model.

    A fit of ``fit_forests`` keeps its forests: the log ratio by which they change p(x, k) is one feature more, with a
    power of its own also if all others share one.

    Of more than 20,000 rows, the powers are learned on every second, third, ... of each class, so that 10,000 to 20,000
    remain; each is left out of the fit to all rows.

    Args:
        posterior: An exact fit, of ``fit_posterior``, ``fit_empirical`` or ``fit_forests``; or a fitted
            ``NaiveBayesClassifier``, whose argument ``temper`` does this as it fits: the result is a copy of it.
        X: The rows of the fit.
        y: Their labels, integers [N], or those of the classifier.
        per_feature: Learn a power of each feature around the common one; a Multinomial or MultivariateNormal block is
            one feature, and ``Views`` have V powers a column, around 1 / V of it.
        sample_weight: The weights of the fit [N].

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
    if not isinstance(posterior, Posterior | ForestPosterior):
        raise ValueError(
            f"temper takes a Posterior, as fit_posterior returns, got {type(posterior).__name__}; a "
            "NaiveBayesClassifier needs method 'posterior' or 'empirical'"
        )
    arguments.require_known("temper", posterior, X, y, sample_weight)
    if as_array(y).ndim == 2:
        raise ValueError("temper takes integer labels [N]: a row with soft labels belongs to every class")
    forest = posterior if isinstance(posterior, ForestPosterior) else None
    exact: Any = posterior if forest is None else forest.posterior
    rows = fitted_rows(exact, X, y, sample_weight)
    table = left_out_evidence(exact, rows, by_feature=per_feature, forest=forest)
    with one_blas_thread():
        powers = np.full(table.evidence.shape[2], learn_temperature(table))
        if per_feature and powers.size:
            powers *= 1.0 + learn_deviations(table, powers[0])
        elif forest is not None:
            features, ratio = 1.0 + learn_deviations(table.with_one_feature(), powers[0])
            powers *= np.append(np.full(len(powers) - 1, features), ratio)
    *by_block, of_forest = np.split(powers, np.cumsum(list(table.sizes.values())))
    if per_feature and (start := exact.prior.start_powers()) is not None:
        by_block = [start[name] * own for name, own in zip(table.sizes, by_block, strict=True)]
    tempered = replace(exact, weights=dict(zip(table.sizes, by_block, strict=True)))
    return tempered if forest is None else replace(forest, posterior=tempered, power=of_forest[0])


def _temper_classifier(classifier: Any, X: Any, y: Any, per_feature: bool, sample_weight: Any) -> Any:
    encoded = classifier.encoded(X)
    codes = codes_among(classifier.classes_, plain_labels(y))
    tempered = copy(classifier)
    tempered.fit_ = temper(classifier.fit_, encoded, codes, per_feature=per_feature, sample_weight=sample_weight)
    tempered.temper = "per_feature" if per_feature else True
    return tempered
