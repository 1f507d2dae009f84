"""The scikit-learn estimator: labels of any type, arrays and data frames, and a choice of fits by name."""

from __future__ import annotations

from typing import Any, Self

import jax
import numpy as np
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesnb.families import Family
from bayesnb.frames.likelihoods import AUTO, make_schema
from bayesnb.frames.schema import ArraySchema, FrameSchema, Schema
from bayesnb.frames.series import Array, Frame, label
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows.statistics import ModelStatistics, merge
from bayesnb.sklearn.estimator_rows import ChecksRows
from bayesnb.sklearn.fit_methods import FITS, specification, temper_fit


def _without_temper(classifier: Any) -> bool:
    if classifier.temper:
        raise AttributeError("temper looks at all rows again, which partial_fit does not keep: use fit")
    return True


class NaiveBayesClassifier(ChecksRows):
    """Naive Bayes as a scikit-learn estimator.

        pi ~ Dirichlet(1),   theta_kd ~ its likelihood's conjugate prior,   p(y = k, x) = pi_k prod_d p(x_d | theta_kd)

    X is an array [N, D], a sparse matrix (`bernoulli` and `multinomial`), or a data frame of pandas, polars or pyarrow,
    whose columns may have different likelihoods. A missing cell (NaN or null) drops its factor, which marginalises it
    exactly; so does a category that was not in the fitted rows.

    Args:
        likelihoods: `auto`: Normal for every column of an array; in a frame text and categories are Categorical,
            booleans Bernoulli, numbers Normal. Or one of `bernoulli`, `categorical` (codes 0, 1, ...), `normal`,
            `poisson`, `multinomial` for all columns; a list of them, one per column; a dict of them, or of families, by
            name or by patterns such as `pixel_*`; other columns are chosen by type, and columns that share one family
            object form one block; or a family, such as ``nb.MultivariateNormal()``, for all columns as one block.
        method: `posterior`, the exact posterior predictive; `map`, the joint mode; `mle`; `nuts`; `empirical`, the
            posterior under the prior with the largest evidence; `averaged`, the average over all subsets of features.
        class_prior: Class probabilities [K] in the order of ``classes_``; the default learns them.
        smoothing: l > 0, or l >= 0 for `map` and `mle`. Pseudo-counts of each category and word, so that predictions
            use (count + l) / (n + l C); pseudo-rows for numbers.
        temper: Learn one power (True) or one per feature (`per_feature`) from the exact leave-one-out predictions, to
            reduce over-confidence if features depend on each other; for `posterior` and `empirical`.
        random_state: Seed for `nuts`.
        num_samples: The number of draws per chain for `nuts`.

    Attributes:
        classes_: Labels [K], sorted.
        class_count_: Sums of weights by class [K].
        fit_: The result of the method: a ``Posterior``, ``PointEstimate`` or ``Draws``.
        likelihoods_: The likelihood of each column, by name.
        statistics_: The sufficient statistics; ``partial_fit`` merges more into them.
        n_features_in_, feature_names_in_: As in scikit-learn.

    Example:
        >>> import bayesnb as nb
        >>> clf = nb.NaiveBayesClassifier(likelihoods=["normal", "categorical"])
        >>> clf = clf.fit([[5.1, 0], [4.9, 1], [6.3, 2], [5.9, 2]], ["no", "no", "yes", "yes"])
        >>> clf.predict([[5.0, float("nan")], [6.0, 2]]).tolist()
        ['no', 'yes']
    """

    def __init__(
        self,
        likelihoods: Any = AUTO,
        *,
        method: str = "posterior",
        class_prior: Any = None,
        smoothing: float = 1.0,
        temper: bool | str = False,
        random_state: Any = None,
        num_samples: int = 1000,
    ) -> None:
        self.likelihoods = likelihoods
        self.method = method
        self.class_prior = class_prior
        self.smoothing = smoothing
        self.temper = temper
        self.random_state = random_state
        self.num_samples = num_samples

    @available_if(_without_temper)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit these rows together with all earlier rows, unless ``temper`` is set; see ``IncrementalClassifier``."""
        return super().partial_fit(X, y, classes, sample_weight)

    def predict(self, X: Any) -> Array:
        """The most probable label of each row, [N]."""
        X = self.encoded(X)
        return self.classes_[self.fit_.predict(X)]

    def predict_proba(self, X: Any) -> Array:
        """p(y = k | x), [N, K]."""
        X = self.encoded(X)
        return self.fit_.predict_proba(X)

    def predict_log_proba(self, X: Any) -> Array:
        """log p(y = k | x), [N, K]."""
        X = self.encoded(X)
        return self.fit_.predict_log_proba(X)

    def predict_joint_log_proba(self, X: Any) -> Array:
        """log p(y = k, x), [N, K], including multinomial coefficients."""
        X = self.encoded(X)
        return self.fit_.log_joint(X)

    def encoded(self, X: Any) -> Any:
        """Checked rows, encoded as ``fit_`` takes them, by block if the columns have different likelihoods."""
        check_is_fitted(self, "fit_")
        X = self._features(X, reset=False)
        if isinstance(X, Frame) and isinstance(self.schema_, ArraySchema):
            X = validate_data(self, X.to_numpy(), reset=False, dtype="numeric", ensure_all_finite=False)
        return self.schema_.encode(X)

    @property
    def known_names(self) -> dict[str, Any]:
        """The names of classes, columns and their values, as ``nb.explain`` and ``nb.top_features`` take them."""
        check_is_fitted(self, "fit_")
        columns, single = self.schema_.names_by_block, self.fit_.model.single
        classes = [label(value) for value in self.classes_.tolist()]
        features = columns["x"] if single else columns
        return {"class_names": classes, "feature_names": features, "value_names": self.schema_.value_names}

    @property
    def class_count_(self) -> Array:
        """Sums of weights by class [K]."""
        return self.statistics_.class_counts

    @property
    def likelihoods_(self) -> dict[str, str]:
        """The likelihood of each column, by name."""
        schema = self.schema_
        if schema.family is not None:
            return dict.fromkeys(schema.names, type(schema.family).__name__)
        kinds = schema.kinds if isinstance(schema, ArraySchema) else [column.likelihood for column in schema.columns]
        return dict(zip(schema.names, kinds, strict=True))

    def learned(self, schema: FrameSchema, classes: Array, statistics: ModelStatistics) -> Self:
        """Fit the statistics of rows with this schema and these classes, as counted by ``nb.stream``."""
        model = specification(self.method, self.smoothing, schema, len(classes), self.class_prior)
        self._set(schema, classes, model, statistics)
        self.n_features_in_ = len(schema.names)
        self.feature_names_in_ = np.array(schema.names, dtype=object)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        # the total of partly missing counts is unknown, and a covariance with missing cells has no closed form
        whole_rows = isinstance(self.likelihoods, Family) and self.likelihoods.one_feature
        tags.input_tags.allow_nan = not (whole_rows or self._kind == "multinomial")
        tags.input_tags.positive_only = self._counts
        tags.classifier_tags.poor_score = self._counts
        return tags

    def _learn(self, X: Any, classes: Array, codes: Array, weight: Array | None, *, reset: bool) -> None:
        given = make_schema(X, self.likelihoods)
        given = given if reset else self.schema_.join(given)
        model = specification(self.method, self.smoothing, given, len(classes), self.class_prior)
        encoded = given.encode(X)
        schema, statistics = given.count(model, encoded, codes, weight)
        if schema is not given:
            model = specification(self.method, self.smoothing, schema, len(classes), self.class_prior)
        if not reset:
            statistics = merge(self.schema_.spread(self.statistics_, schema), statistics)
        self._set(schema, classes, model, statistics, (encoded, codes, weight) if self.temper else None)

    def _set(
        self, schema: Schema, classes: Array, model: NaiveBayes, statistics: ModelStatistics, rows: Any = None
    ) -> None:
        """Fit, then set the fitted attributes, so that an error leaves them unchanged."""
        options: dict[str, Any] = {}
        if self.method == "nuts":
            key = jax.random.key(check_random_state(self.random_state).randint(2**31))
            options = {"key": key, "num_samples": self.num_samples, "progress_bar": False}
        fit = FITS[self.method](model, statistics=statistics, **options)
        if rows is not None:
            fit = temper_fit(fit, self.temper, *rows)
        self.classes_, self.schema_, self.statistics_, self.fit_ = classes, schema, statistics, fit
