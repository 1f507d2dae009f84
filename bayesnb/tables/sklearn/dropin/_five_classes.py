"""The five classes: GaussianNB, and those of features that are counted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.preprocessing import binarize
from sklearn.utils import assert_all_finite

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import is_sparse, rows_of
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.numerics._dirichlet import log_frequencies
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products import Linear
from bayesnb.compute.primitives.products._linear_scores import Score, likelihood_tables
from bayesnb.core.families import Bernoulli, Multinomial, Normal
from bayesnb.core.families._bernoulli import BernoulliStatistics
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families._multinomial import MultinomialStatistics
from bayesnb.core.families._open_categorical import WholeParts
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, summarise
from bayesnb.tables.sklearn.dropin._base_nb import BaseNB, check_class_probs


class GaussianNB(BaseNB, naive_bayes.GaussianNB):
    """Real features: x_d | y = k ~ Normal(theta_kd, var_kd), theta the mean and var the smoothed variance of the class,

        var_kd = S_kd / n_kd + epsilon,    epsilon = var_smoothing max_d V_d,

    with S the sum of squared deviations of its n cells, and V_d the variance of column d over all rows. Columns should
    have like scales; for ``NaiveBayesClassifier`` they need not, as each column has its own prior.

    Args:
        priors: Class probabilities [K]; by default the class frequencies.
        var_smoothing: The fraction of the largest variance of a column that is added to every variance.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.tables.sklearn.dropin``):

    * ``partial_fit`` smooths by the variances of all rows so far, so any split gives the fit of all rows; scikit-learn
      takes the last batch's. Weights count in ``epsilon_`` too, and may have any scale.
    * A column that is constant over all rows has ``var_`` 0 and factor 1. With ``var_smoothing=0`` a class variance of
      0 becomes 1e-9 of the column's. A class without cells in a column gets the column's moments.

    Example:
        >>> import bayesnb as nb
        >>> clf = nb.sklearn.GaussianNB().fit([[1.0], [3.0], [6.0], [10.0]], ["low", "low", "high", "high"])
        >>> clf.theta_.tolist(), clf.var_.round(3).tolist()
        ([[8.0], [2.0]], [[4.0], [1.0]])
        >>> clf.predict([[2.5], [float("nan")]]).tolist()
        ['low', 'high']
    """

    _parameters = ("class_prior_", "theta_", "var_")
    _model = NaiveBayes(Normal())

    def _set_class_prior(self) -> Array:
        probs = check_class_probs(self.class_count_ if self.priors is None else self.priors, len(self.classes_))
        if self.priors is not None and not np.isclose(np.sum(self.priors), 1.0):
            raise ValueError(f"The sum of the priors should be 1. It is {np.sum(self.priors):g}: divide by it")
        self.class_prior_: Array = probs.astype(self._precision)
        return probs

    def _set_features(self, statistics: NormalStatistics) -> tuple[Array, ...]:
        pooled, shown = statistics.pool(), statistics.count > 0
        theta = np.where(shown, statistics.mean, pooled.mean)
        self.epsilon_ = self.var_smoothing * pooled.variance.max()
        var = np.where(shown, statistics.variance, pooled.variance) + self.epsilon_
        var = np.where((var > 0) & (pooled.variance > 0), var, limits.VARIANCE_FLOOR * pooled.variance)
        self.theta_: Array = np.array(theta, self._precision)
        self.var_: Array = np.array(var, self._precision)
        return theta, var

    def _visible_parameters(self) -> tuple[Array, ...]:
        return tuple(np.asarray(getattr(self, name), np.float64) for name in self._parameters)

    def _table(self, theta: Array, var: Array) -> Any:
        return likelihood_tables(self._model.families["x"], {"loc": theta, "variance": var})


class BernoulliNB(BaseNB, naive_bayes.BernoulliNB):
    """Binary features: x_d | y = k ~ Bernoulli(theta_kd), with the smoothed frequency of ones in the class,

        theta_kd = (s_kd + alpha_d) / (n_kd + 2 alpha_d).

    Args:
        alpha: Pseudo-counts of ones and of zeros, a number or one per column [D]; 0 is the maximum likelihood.
        binarize: Cells above this threshold become 1, others 0; None if all cells are 0 or 1 already.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.tables.sklearn.dropin``):

    * The probability of a zero is computed from the counts, not as 1 - theta: every ``alpha``, including 0 and 1e-20,
      gives the right answer.
    * With ``binarize=None`` cells other than 0 and 1 are refused.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.BernoulliNB(alpha=1.0).fit([[1], [1], [0], [0]], ["no", "no", "no", "yes"])
        >>> np.exp(clf.feature_log_prob_).round(3)  # (2 + 1) / (3 + 2) and (0 + 1) / (1 + 2)
        array([[0.6  ],
               [0.333]])
        >>> clf.predict([[1]]).tolist()
        ['no']
    """

    _model = NaiveBayes(Bernoulli())

    def _cells(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        if is_sparse(X):
            return binarize(rows_of(X), threshold=self.binarize)
        if 0 <= self.binarize < 1 and X.dtype.kind in "bu" and X.max() <= 1:
            return X  # zeros and ones already: without a copy a fit of bytes takes two thirds of the time
        flags = np.greater(X, self.binarize)
        if np.isfinite(X).all():
            return flags
        assert_all_finite(X, allow_nan=True, input_name="X")
        return np.where(np.isnan(X), X, flags)

    def _sum(self, X: Any, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        if self.binarize is not None and 0 <= self.binarize < 1 and not is_sparse(X):
            # cells may be zeros and ones already, as the sums tell: without a copy a fit takes half of the time
            with suppress(ValueError):
                return super()._sum(X, codes, weight, num_classes)
        return super()._sum(self._cells(X), codes, weight, num_classes)

    def _set_features(self, statistics: BernoulliStatistics) -> tuple[Array, ...]:
        self.feature_count_ = statistics.successes
        failures = np.maximum(statistics.trials - statistics.successes, 0.0)
        pairs = np.stack([statistics.successes, failures], axis=-1).reshape(len(failures), -1)
        alpha = np.repeat(np.broadcast_to(self._check_alpha(), self.n_features_in_), 2)
        logs = log_frequencies(pairs, alpha, np.full(self.n_features_in_, 2))
        self.feature_log_prob_ = np.ascontiguousarray(logs[:, ::2])
        return self.feature_log_prob_, logs[:, 1::2]

    def _visible_parameters(self) -> tuple[Array, ...]:
        with np.errstate(divide="ignore"):
            return *super()._visible_parameters(), np.log(-np.expm1(self.feature_log_prob_))

    def _table(self, success: Array, failure: Array) -> Linear:
        one, zero = LogProb.of(success), LogProb.of(failure)
        return Linear((one.finite - zero.finite,), zero.finite, (one.zeros - zero.zeros,), zero.zeros)


class CategoricalNB(BaseNB, naive_bayes.CategoricalNB):
    """Codes 0, 1, ... of categories: x_d | y = k ~ Categorical(theta_kd), with smoothed frequencies,

        theta_kdc = (n_kdc + alpha) / (n_kd + alpha C_d).

    for C_d categories in column d. The integer part of a cell is its code, as in scikit-learn.

    Args:
        alpha: Pseudo-counts; 0 is the maximum likelihood.
        min_categories: The smallest C_d, a number or one per column [D]; by default the largest code plus one.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.tables.sklearn.dropin``):

    * A code that was not in the fitted rows drops its factor. ``n_categories_`` is that of all rows so far.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.CategoricalNB().fit([[0], [0], [1], [2]], ["no", "no", "no", "yes"])
        >>> np.exp(clf.feature_log_prob_[0]).round(3)  # (n_c + 1) / (n + 3)
        array([[0.5  , 0.333, 0.167],
               [0.25 , 0.25 , 0.5  ]])
        >>> clf.predict_proba([[7]])  # a code without rows drops its factor: the class prior
        array([[0.75, 0.25]])
    """

    @property
    def _model(self) -> NaiveBayes:  # type: ignore[override]
        return NaiveBayes(WholeParts(tuple(table.shape[1] for table in self.feature_log_prob_)))

    def _sum(self, X: Array, codes: Array, weight: Array | None, num_classes: int) -> ModelStatistics:
        # scikit-learn's reading of ``min_categories`` if every code is 0
        least = tuple(self._validate_n_categories(np.zeros((1, X.shape[1]), int), self.min_categories).tolist())
        model = NaiveBayes(WholeParts(least))
        counted = summarise(label_rows(model, X, codes, weight, num_classes), evidence=False)
        return counted.with_block("x", counted.blocks["x"].without_room(least))

    def _set_features(self, statistics: CategoricalStatistics) -> tuple[list[Array]]:
        self.n_categories_ = np.array(statistics.sizes, np.int64)
        self.category_count_ = statistics.columns()
        logs = log_frequencies(statistics.counts, self._check_alpha(), self.n_categories_)
        self.feature_log_prob_ = CategoricalStatistics(logs, statistics.sizes).columns()
        return (self.feature_log_prob_,)

    def _table(self, tables: list[Array]) -> LogProb:
        return LogProb.of(np.concatenate(tables, axis=1))


class BaseCountsNB(BaseNB):
    """The base of the classes for counts, whose scores are sum_d w_kd x_d."""

    _model = NaiveBayes(Multinomial())

    def _table(self, coefficients: Array) -> Linear:
        finite, zeros = LogProb.of(coefficients)
        return Linear((finite,), zeros=(zeros,))


class MultinomialNB(BaseCountsNB, naive_bayes.MultinomialNB):
    """Counts of D kinds: x | y = k ~ Multinomial(theta_k), with the smoothed frequencies in the class,

        theta_kd = (c_kd + alpha_d) / sum_d (c_kd + alpha_d).

    ``predict_joint_log_proba`` leaves out the multinomial coefficient.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 is the maximum likelihood.

    Intended differences from scikit-learn, besides those of all five classes (``bayesnb.tables.sklearn.dropin``):

    * A row that is all NaN is missing; in other rows NaN is refused, since their total would be unknown. Negative
      counts are refused in predictions too.

    Example:
        >>> import numpy as np, bayesnb as nb
        >>> clf = nb.sklearn.MultinomialNB().fit([[3, 0, 1], [0, 2, 0]], ["junk", "ok"])
        >>> np.exp(clf.feature_log_prob_).round(3)  # (c_d + 1) / (sum c + 3)
        array([[0.571, 0.143, 0.286],
               [0.2  , 0.6  , 0.2  ]])
        >>> clf.predict([[1, 0, 0]]).tolist()
        ['junk']
    """

    def _set_features(self, statistics: MultinomialStatistics) -> tuple[Array]:
        self.feature_count_ = statistics.counts
        self.feature_log_prob_ = log_frequencies(statistics.counts, self._check_alpha(), [self.n_features_in_])
        return (self.feature_log_prob_,)


class ComplementNB(BaseCountsNB, naive_bayes.ComplementNB):
    """Counts of D kinds, scored by how unlike the rows of the other classes they are.

        w_kd = -log theta_kd,    theta_kd = (c_d - c_kd + alpha_d) / sum_d (c_d - c_kd + alpha_d),

    with c_d the counts of all classes; the score of a row is sum_d w_kd x_d, without a class prior. No generative model
    p(x | y) gives this classifier: its "probabilities" are normalised scores. Rennie, Shih, Teevan and Karger, Tackling
    the poor assumptions of naive Bayes text classifiers (2003), section 3.1; section 3.2 for ``norm``.

    Args:
        alpha: Pseudo-counts, a number or one per kind [D]; 0 means no smoothing.
        fit_prior, class_prior: Used only if there is just one class.
        norm: Whether to divide the coefficients of each class by their sum over d.

    Intended differences from scikit-learn, besides those of ``MultinomialNB``:

    * With ``alpha=0`` a kind that occurs in only one class has an infinite coefficient there: its presence excludes the
      other classes, its absence adds nothing. ``norm`` then divides 1 equally among the infinite coefficients, the
      limit as alpha goes to 0.

    Example:
        >>> import bayesnb as nb
        >>> clf = nb.sklearn.ComplementNB().fit([[3, 0, 1], [0, 2, 0]], ["junk", "ok"])
        >>> clf.feature_log_prob_.round(2)  # minus log of the other class's (c_d + 1) / (sum c + 3)
        array([[1.61, 0.51, 1.61],
               [0.56, 1.95, 1.25]])
        >>> clf.predict([[1, 0, 0]]).tolist()
        ['junk']
    """

    def _set_features(self, statistics: MultinomialStatistics) -> tuple[Array]:
        self.feature_count_, self.feature_all_ = statistics.counts, statistics.counts.sum(axis=0)
        others = np.maximum(self.feature_all_ - self.feature_count_, 0.0)
        coefficients = -log_frequencies(others, self._check_alpha(), [self.n_features_in_])
        self.feature_log_prob_ = _divide_by_sum(coefficients) if self.norm else coefficients
        return (self.feature_log_prob_,)

    def _score(self, class_probs: Array, *parameters: Any) -> Score:
        # the prior matters only if there is a single class
        return super()._score(class_probs if len(class_probs) == 1 else np.ones(len(class_probs)), *parameters)

    def _table(self, coefficients: Array) -> Linear:
        certain = np.isposinf(coefficients)
        # an infinite coefficient for one class makes the others impossible
        excluded = certain.any(axis=0) & ~certain
        return super()._table(np.where(excluded, -np.inf, np.where(certain, 0.0, coefficients)))


def _divide_by_sum(coefficients: Array) -> Array:
    """Divide coefficients by their sum; infinite coefficients share 1 equally."""
    infinite = np.isinf(coefficients)
    coefficients = np.where(infinite.any(axis=1, keepdims=True), infinite, coefficients)
    total = coefficients.sum(axis=1, keepdims=True)
    return coefficients / np.where(total > 0, total, 1.0)
