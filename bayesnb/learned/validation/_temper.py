"""Temper a posterior: powers on the features' likelihoods, learned on exact leave-one-out predictions.

Features that depend on each other within a class count the same evidence twice, which makes predictions overconfident.
Parameter uncertainty does not correct this; powers do:

    p(k | x)  is proportional to  p(k) prod_d p(x_d | k)^w_d

`bayesnb compare` calls this its methods `tempered` and `feature weights`.

One power T for all features (an inverse temperature; the class prior stays) maximises the leave-one-out log likelihood
plus log N(log T; 0, 1). It is at most 1: rows that leave-one-out predicts without error would favour ever larger ones.

One power per feature, w_d = T (1 + delta_d) >= 0 with delta_d ~ N(0, scale^2), is a multinomial logit whose covariates
are the left-out log ratios of the features, convex in delta at that T. The scale, at most 1, has the largest
evidence by Laplace's approximation: with few rows it becomes small, and single rows are not overfitted; that of forests
is 1. Zaidi,
Cerquides, Carman and Webb, Alleviating naive Bayes attribute independence assumption by attribute weighting (2013),
weight features similarly, but without leaving rows out.

A block of counts, such as words, has a power by the length of the row, min(1, c n^-b) with n - 1 words, and the class
prior a power a (docs/theory/powers.md). log c, b and log a are learned first, together with log T of the others; the
others' powers then given these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._loops import one_blas_thread
from bayesnb.compute.arrays._placement import is_traced, promote_dtypes
from bayesnb.compute.arrays._typing import ArrayLike, Estimator, LabelsLike, Table
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import Powers
from bayesnb.core.results._unwrap import unwrap
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import LabelledRows, label_rows
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.learned.forests._stacked import StackedPosterior
from bayesnb.learned.validation import _temper_in_jax as temper_in_jax
from bayesnb.learned.validation._learn_powers import learn_deviations, learn_powers, learn_temperature
from bayesnb.learned.validation._leave_one_out import fitted_rows
from bayesnb.learned.validation._ratio_table import (
    Groups,
    LeftOutRatios,
    count_features,
    left_out_log_ratios,
    part_of,
    prior_and_words,
)

NO_WORDS = Powers({}, {}, None)

Fit = TypeVar("Fit", bound=Posterior | ForestPosterior | Estimator)


def temper(
    posterior: Fit, X: Table, y: LabelsLike, *, per_feature: bool = False, sample_weight: ArrayLike | None = None
) -> Fit:
    """The same fit with one power, or one per feature, on the features' likelihoods; learned without held-out data.

    The ``powers`` of the result are by block, [D] or [V D], or [1] if the whole block has one power. The common power
    is at most 1; a feature's own may be larger. If one of several ``Views`` is a ``Normal``, its powers and those of
    the other views are learned separately, each as if the others were absent; the fit uses half of each. Predictions
    use the powers; parameters, their draws, p(x) and the evidence are those of the model.

    With a Multinomial block, such as words, which come in bursts, the result has ``length_exponents`` b and a
    ``class_power`` a too, whether ``per_feature`` or not: a row of n words has min(1, c (1 + n)^-b). Each row is judged
    by words that other rows have, if each word of the block is in some row.

    A fit of ``fit_forests`` keeps its forests: the log ratio by which they change p(x, k) is one feature more, with a
    power of its own also if all others share one.

    Where N rows, K classes and F powers make N (K - 1) F exceed 4 million, the powers are learned on a part of the
    rows, 250 a power or more, that depends neither on their order nor on batches; each is left out of the fit to all.

    Inside ``jit``, ``vmap`` and ``grad`` it runs as well, in pure JAX: a fit each for many customers, say.

    Args:
        posterior: An exact fit, of ``fit_posterior``, ``fit_empirical`` or ``fit_forests``; or a fitted
            ``NaiveBayesClassifier``: the result is a copy of it, without the average that it has by default.
        X: The rows of the fit.
        y: Their labels, integers [N], or those of the classifier.
        per_feature: Learn a power of each feature around the common one; a MultivariateNormal block is one feature,
            and ``Views`` have V powers a column, around its share of them.
        sample_weight: The weights of the fit [N]; a row of weight w is w rows, of which one is left out.

    Raises:
        ValueError: if X, y and sample_weight are not the fitted rows (not checked inside JAX), for soft labels,
            and of forests in a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[flag] * 4 for flag in (0, 0, 1, 1, 1, 0)], [0, 0, 0, 1, 1, 1]  # one column, four times
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> [fit.predict_proba([[1] * 4]).round(2) for fit in (post, nb.temper(post, X, y))]
        [array([[0.16, 0.84]]), array([[0.38, 0.62]])]
        >>> words, y = [[5, 1], [1, 0], [9, 3], [0, 1], [2, 6], [1, 1]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), words, y)
        >>> fit = nb.temper(post, words, y)
        >>> fit.length_exponents["x"].round(2), [each.predict_proba([[20, 2]]).round(2) for each in (post, fit)]
        (array([0.62]), [array([[1., 0.]]), array([[0.91, 0.09]])])
    """
    inner, rows = unwrap(posterior, X)
    if inner is not posterior:
        classifier: Any = posterior
        inner = inner.alone if isinstance(inner, StackedPosterior) else inner
        inner = temper(inner, rows, classifier.codes_of(y), per_feature=per_feature, sample_weight=sample_weight)
        return _with_fit(classifier, inner, per_feature)
    if isinstance(posterior, StackedPosterior):
        raise ValueError(
            "a StackedPosterior has learned powers of each of its parts: temper its first part, fit.alone, or fit with "
            "method='posterior'"
        )
    if not isinstance(posterior, Posterior | ForestPosterior):
        raise ValueError(
            f"temper takes a Posterior, as fit_posterior returns, got {type(posterior).__name__}; a "
            "NaiveBayesClassifier needs method 'posterior' or 'empirical'"
        )
    arguments.require_integer_labels("temper takes", y)
    tempered: Any
    if is_traced(posterior, X, y, sample_weight) and isinstance(posterior, Posterior):
        tempered = _raise_in_jax(posterior, label_rows(posterior.model, X, y, sample_weight), per_feature)
        return tempered
    arguments.require_known("temper of forests", posterior, X, y, sample_weight)
    tempered, _ = _raise(posterior, fitted_rows(without_forest(posterior), X, y, sample_weight), per_feature)
    return tempered


def temper_fitted(
    posterior: Any, X: Any, y: Any, weight: Any = None, *, per_feature: bool | Collection[str]
) -> tuple[Posterior, int]:
    """``temper`` on rows that are known to be those of the fit, or a part of them; and on how many it learned.

    ``per_feature`` may be the blocks whose features have powers of their own; any other block has one.
    """
    return _raise(posterior, label_rows(posterior.model, X, y, weight), per_feature)


def _raise(
    fit: Posterior | ForestPosterior, rows: LabelledRows, per_feature: bool | Collection[str]
) -> tuple[Any, int]:
    """The fit with powers that these of its rows suggest, and on how many it learned."""
    exact, forest = without_forest(fit), fit if isinstance(fit, ForestPosterior) else None
    rows = part_of(exact, rows, sum(count_features(rows, per_feature).values()))
    table = left_out_log_ratios(exact, rows, by_feature=per_feature, forest=forest)
    with one_blas_thread():
        table, words = raise_words(table)
        if per_feature is not False:
            powers = learn_powers(Groups.of(exact.prior.families, table.sizes), table)
        else:
            powers = np.full(table.num_features, learn_temperature(table))
            if forest is not None:
                features, ratio = 1.0 + learn_deviations(table.with_one_feature(), powers[0])
                powers *= np.append(np.full(len(powers) - 1, features), ratio)
    return with_powers(fit, table.sizes, powers, words), rows.num_rows


def without_forest(fit: Posterior | ForestPosterior) -> Posterior:
    """The fit itself, or of one with forests that without dependence."""
    return fit.posterior if isinstance(fit, ForestPosterior) else fit


def raise_words(table: LeftOutRatios) -> tuple[LeftOutRatios, Powers]:
    """The table with the class prior and blocks of counts at the powers that they learn first, and these powers."""
    # without a word in any row there is nothing to learn
    known = any(ratios.any() for ratios in table.words.values())
    words = learn_words(table) if known else NO_WORDS._replace(features={name: np.ones(1) for name in table.words})
    return replace(table, prior=prior_and_words(table, words)), words


@promote_dtypes
def _raise_in_jax(exact: Posterior, rows: LabelledRows, per_feature: bool) -> Posterior:
    """The same of a ``Posterior`` in pure JAX."""
    arrays, labels = jax.tree.map(jnp.asarray, (rows.arrays, rows.labels))
    rows = replace(rows, arrays=arrays, labels=labels)
    table = temper_in_jax.left_out_log_ratios(jax.tree.map(jnp.asarray, exact), rows, by_feature=per_feature)
    words = _words_of(table.words, temper_in_jax.learn_words(table)) if table.words else NO_WORDS
    table = table._replace(prior=prior_and_words(table, words))
    if per_feature:
        powers = temper_in_jax.learn_powers(Groups.of(exact.prior.families, table.sizes), table)
    else:
        powers = jnp.full(table.ratios.shape[2], temper_in_jax.learn_temperature(table))
    return with_powers(exact, table.sizes, powers, words)


def with_powers(exact: Any, sizes: dict[str, int], powers: Any, words: Powers) -> Any:
    """The fit with powers [F] of blocks of these sizes, end to end, of ``Views`` relative to their shares; that of
    forests is the last.
    """
    if isinstance(exact, ForestPosterior):
        without = with_powers(exact.posterior, sizes, powers, words)
        return replace(exact, posterior=without, power=np.asarray(powers[-1]))
    start, by_block = exact.prior.start_powers() or {}, dict(words.features)
    for (name, size), end in zip(sizes.items(), np.cumsum(list(sizes.values())), strict=True):
        own = powers[end - size : end]
        # views that share one power have their shares of it
        by_block[name] = own * start[name] if name in start and len(start[name]) == size else own
    in_order = {name: by_block[name] for name in exact.prior.families}
    return replace(exact, powers=in_order, length_exponents=words.lengths or None, class_power=words.of_class)


def _with_fit(classifier: Any, fit: Any, per_feature: bool) -> Any:
    tempered = copy(classifier)
    tempered.fit_ = fit
    if isinstance(classifier.fit_, StackedPosterior):
        tempered.dependence = False
    # a fit of several views is the default's, which learns a power per feature again if it is repeated
    default = classifier.temper is None and classifier.fit_.prior.start_powers() is not None
    tempered.temper = None if default and per_feature else "per_feature" if per_feature else True
    return tempered


def learn_words(table: LeftOutRatios) -> Powers:
    """The powers of blocks of counts and of the classes, together with one of all other features, which is left out."""
    columns = np.stack([table.ratios.sum(axis=2, dtype=np.float64), *table.words.values(), table.prior], axis=2)
    of_all = np.pad(columns, ((0, 0), (0, 1), (0, 0)))  # the ratio of a row's own class to itself is 0
    lengths = np.stack([*table.lengths.values()], axis=1)
    return _words_of(table.words, interpret(temper_in_jax.find_words, of_all, lengths, table.weight))


def _words_of(blocks: Iterable[str], found: Any) -> Powers:
    """The powers from what ``find_words`` found for these blocks."""
    names = [*blocks]
    powers, exponents = either.exp(found[1 : len(names) + 1]), found[len(names) + 1 : -1]
    features = {name: powers[place : place + 1] for place, name in enumerate(names)}
    lengths = {name: exponents[place : place + 1] for place, name in enumerate(names)}
    return Powers(features, lengths, either.exp(found[-1:]).reshape(()))
