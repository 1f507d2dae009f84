"""The scikit-learn estimator: labels of any type, arrays and data frames, and a choice of fits by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from bayesnb.compute.arrays._placement import fill_missing
from bayesnb.compute.arrays._typing import ArrayLike, ByColumn, ByLabel, LabelsLike, Rows, Table
from bayesnb.core.families import Family
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._decisions import decide
from bayesnb.inspection.sensitivity._decide_set import decide_set
from bayesnb.inspection.sensitivity._robustness import own_s_star
from bayesnb.tables.frames._choices import AUTO, takes_sparse
from bayesnb.tables.frames._classes import classes_and_codes, codes_among, name_of
from bayesnb.tables.frames._refusals import use_rows
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._series import Array, Frame, label
from bayesnb.tables.sklearn._fitted import Batch, add_rows, fit_rows, take_away
from bayesnb.tables.sklearn._held import Held
from bayesnb.tables.sklearn._incremental import IncrementalClassifier, fade_weights, known_classes
from bayesnb.tables.sklearn._learned import count_kinds
from bayesnb.tables.sklearn._rows import check_features, check_rows, takes_counts
from bayesnb.tables.sklearn._settings import (
    costs_by_label,
    missing_evidence,
    specification,
)


class NaiveBayesClassifier(IncrementalClassifier, Held):
    """Naive Bayes as a scikit-learn estimator.

        pi ~ Dirichlet(1),   theta_kd ~ its likelihood's conjugate prior,   p(y = k, x) = pi_k prod_d p(x_d | theta_kd)

    X is an array [N, D], a sparse matrix (`bernoulli` and `multinomial`), or a data frame of pandas, polars or pyarrow,
    whose columns may have different likelihoods. Rows of a frame may also be a list of dicts by column name, Series or
    named tuples, and to predict one row one of these, `{"age": 31}`; each has all columns of the fit. A missing cell
    (NaN, null, None, NA) drops its factor, which marginalises it exactly; so does a category that no fitted row had.

    A column of text is read as words by ``likelihoods={"message": "words"}``, or by a ``CountVectorizer`` or a
    ``HashingVectorizer`` of one's own: a Multinomial block of sparse counts, whose vocabulary grows in ``partial_fit``.
    The prior is over all words that were fitted, in any split; words that were not are dropped in prediction. A missing
    text is one without words. With ``likelihoods="words"`` X may be a list or a series of texts.

    X may be a list or a dict of blocks, such as ``{"words": counts, "numbers": frame}``, each with its own entry in
    ``likelihoods``. Words that a ``ColumnTransformer`` counts: docs/how_to/text_column.md.

    Args:
        likelihoods: `auto`: for each column of a frame the likelihood that suits its values, as ``infer_likelihoods``
            shows; for an array Bernoulli for each column of zeros and ones in 10 or more rows, and numbers for all
            others. Or one of `bernoulli`, `categorical` (codes 0, 1, ...), `ordered` (levels of a type, or numbers; of
            texts a list of them, low to high), `normal`, `histogram` (numbers of any distribution), `poisson`,
            `multinomial`, `words` or `character n-grams` (of columns of text), or `gamma`, `exponential`, `lognormal`,
            `weibull`, `beta`, `student` (with 4 degrees of freedom) and others (docs/theory/likelihood.md), for all
            columns; a list of them, one per column; a dict of them, or of families or vectorizers, by name or by
            patterns such as `pixel_*`; `auto` chooses for other columns, and columns that share one family object form
            one block; for an array a dict by position, ranges of them, and `*` for all others; a family, such as
            ``nb.MultivariateNormal()``, for all columns as one block; or a ``NaiveBayes`` with its own priors, such as
            ``nb.from_numpyro`` gives, whose blocks are the columns in its order, or blocks by name. A column that is
            `skip` is left out. For blocks a list, or a dict by block, of any of these.
        method: `default`, the best probabilities that we know of (docs/probabilities.md): inferred numbers are
            ``nb.Views(nb.Normal(), nb.NormalScores(), nb.Histogram())``, each column and view has a power, learned from
            exact leave-one-out predictions, and the prediction is averaged with those of models of dependence, with
            learned shares (`StackedPosterior`). `posterior`, the exact posterior predictive, with nothing learned;
            `map`, the joint mode; `mle`; `nuts`; `empirical`, the posterior under a learned prior, which on pixels and
            words may predict worse (see ``fit_empirical``); `averaged`, the average over all subsets of features.
        class_prior: Class probabilities: `uniform`, [K] in the order of ``classes_``, or a dict by label; the default
            learns them. ``predict_proba(X, class_prior=...)`` and ``with_class_prior`` change them after a fit.
        class_weight: `balanced`, or a dict or Series of weights by label, 1 where it has none. It multiplies the
            learned p(y = k) by the weight of k, and renormalises; `balanced` makes all p(y = k) equal. Only the class
            prior changes: weights on the rows would also make the parameters of heavy classes look better known than
            they are, and inflate the evidence. The decisions of `mle` are those of weighted rows where classes share no
            parameter.
        smoothing: l > 0, or l >= 0 for `map` and `mle`. Pseudo-counts of each category and word, so that predictions
            use (count + l) / (n + l C); pseudo-rows for numbers. `histogram` averages over its own.
        forgetting: The factor in [0, 1] by which each row of ``partial_fit`` discounts all rows before it, in order; 1
            forgets nothing. ``fit`` counts all rows alike. ``nb.fit_forgetting`` learns it.
        temper: None: what the method learns. True or `per_feature`: only one power, or one per feature, and numbers are
            Normal; for `default`, `posterior` and `empirical`. False: none. Of many rows powers are learned on a part
            (``nb.temper``), and where N (K - 1) F^2 is large features of a block share one.
        dependence: Which parts `default` averages. None: the posterior; the most probable forest of dependence and the
            mean over those with one parent for all ("aode"), where their pairs are affordable: with S categories and
            segments of all columns, up to K S^2 of 20 million; and inferred numbers with one covariance for all classes
            ("lda") and with one for each ("qda"). False: the posterior alone. `forest` or `aode`: that part alone.
        keep_rows: Whether ``partial_fit`` keeps rows, from which powers and dependence are learned again: all of them
            up to 10,000, and then so many of each class. ``fit`` keeps none, and ``save`` writes them if ``rows=True``
            asks. Without rows the powers of the first fit remain, without dependence.
        missing: `auto`: `default` learns from rows whether each column that lacks cells has one more feature, "age is
            missing", with a power of its own; where left-out predictions are no better, and elsewhere, it is None:
            whether a cell is missing says nothing. `informative`: each column with missing cells in the first fit has
            it, but for those marked `skip`. Or a dict of `informative` and None by column, pattern or position.
        unlabelled: `use`: ``fit`` learns from rows without a label as well, by expectation maximisation (``fit_em``):
            those whose y is None or NaN, and -1 where two other classes remain. Then the methods default and `map` are
            the MAP, and `mle` the MLE. ``learned_`` says by how much these rows moved probabilities.
        random_state, num_samples: The seed, and the number of draws per chain, for `nuts`.

    Attributes:
        classes_, class_count_: Labels [K], sorted, and the sums of their rows' weights.
        fit_: The result of the method, such as a ``StackedPosterior``, ``Posterior`` or ``Draws``.
        learned_: What was learned, in words, with the powers of columns and the parts' shares.
        likelihoods_: The likelihood of each column, or `skip`, by name; `normal` also where it is one of three views.
        statistics_: The sufficient statistics; ``partial_fit`` merges more into them.
        missing_evidence_: How much the class explains which cells are missing, by column (``missing``): the log Bayes
            factor, as in ``feature_inclusion``.
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
        likelihoods: str | Family | NaiveBayes | Sequence[object] | ByColumn = AUTO,
        *,
        method: str = "default",
        class_prior: ArrayLike | ByLabel[float] | None = None,
        class_weight: str | ByLabel[float] | None = None,
        smoothing: float = 1.0,
        forgetting: float = 1.0,
        temper: bool | str | None = None,
        dependence: bool | str | None = None,
        missing: str | ByColumn | None = AUTO,
        unlabelled: str | None = None,
        keep_rows: bool = True,
        random_state: int | np.random.RandomState | None = None,
        num_samples: int = 1000,
    ) -> None:
        self.likelihoods = likelihoods
        self.method = method
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.smoothing = smoothing
        self.forgetting = forgetting
        self.temper = temper
        self.dependence = dependence
        self.missing = missing
        self.unlabelled = unlabelled
        self.keep_rows = keep_rows
        self.random_state = random_state
        self.num_samples = num_samples

    def fit(self, X: Table, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the rows X [N, D], with their labels y [N] and weights [N], forgetting earlier ones.

        Raises:
            ValueError: if rows, labels, weights or parameters are invalid; invalid rows leave an earlier fit unchanged.
        """
        asked = self._asked()
        with self._unchanged_if_refused():
            use = self.unlabelled is not None
            X, labels, weight, missing = check_rows(self, X, y, sample_weight, reset=True, fills=use)
            batch = Batch(X, *classes_and_codes(labels), weight, missing)
            return self._hold(fit_rows(asked, batch, is_first=False), declared=False, target=name_of(y))

    def partial_fit(
        self, X: Table, y: LabelsLike, classes: LabelsLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit these rows together with all earlier rows, in any split into batches.

        Classes need not be declared: one that appears later joins, and the fit is that of all classes declared in the
        first call, without a second look at earlier rows. Labels of a ``class_prior`` by label are known from the
        start. With ``classes`` in the first call a label that is not among them is refused; in a later call they may
        add some, and are then all.

        Likelihoods are inferred from the first rows and kept, with a warning where all rows together suggest others;
        priors that follow from the data are those of all rows so far, as in a fit of them. With declared likelihoods
        any split into batches, in any order, gives the fit of all rows: bins, powers and dependence, too, while no more
        than 10,000 rows have come, all of which are kept (``keep_rows``). Then bins and flags are fixed, powers and
        dependence are learned on the rows that are kept. Each call takes as long as learning from these: for rows one
        by one use ``method="posterior"``, or ``keep_rows=False``. A `histogram` of `posterior` keeps the edges that it
        finds in the first batch, so give a large one, or ``nb.Histogram(edges=...)``. With ``forgetting`` each row
        discounts all rows before it, those of its own batch as well, so that any split of rows in order is the same.
        """
        asked, declared = self._asked(), classes is not None or self._declared
        before = self._fitted() if self.__sklearn_is_fitted__() else None
        if self.forgetting != 1 and y is not None:
            sample_weight = fade_weights(self.forgetting, y, sample_weight)
        earlier = None if before is None else before.classes
        known = known_classes(earlier, classes, self.class_prior, declared=self._declared)
        with self._unchanged_if_refused():
            X, labels, weight, _ = check_rows(self, X, y, sample_weight, reset=before is None)
            batch = Batch(X, *classes_and_codes(labels, known, may_grow=not declared), weight)
            found = fit_rows(asked, batch, is_first=True) if before is None else add_rows(asked, batch, before)
            return self._hold(found, declared=declared, target=name_of(y) or self._target)

    def forget(self, X: Table, y: LabelsLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows away that were fitted: what remains is the fit without them, to rounding (``nb.subtract``).

        Powers are learned again if ``partial_fit`` has kept rows, else those of all rows remain. Likelihoods,
        categories and classes stay those of all rows that were ever fitted; a class without rows left is one that no
        row shows.

        Args:
            X: Rows [N, D] that were among the fitted ones, encoded as they were.
            y: Their labels [N].
            sample_weight: The weights [N] with which they were fitted.

        Raises:
            ValueError: if these rows cannot have been fitted; the fit stays as it was.
        """
        self._require_fitted()
        X, labels, weight, _ = check_rows(self, X, y, sample_weight, reset=False)
        batch = Batch(X, self.classes_, codes_among(self.classes_, labels), weight)
        return self._hold(take_away(self._asked(), batch, self._fitted()), declared=self._declared, target=self._target)

    def predict(self, X: Table, costs: ArrayLike | ByLabel[ByLabel[float]] | None = None) -> Array:
        """The most probable label of each row, [N]; with ``costs`` the one of least expected cost (``nb.decide``).

        ``costs`` are [K, K] in the order of ``classes_``, a row for each true class and a column for each decision, or
        a dict of dicts by label, ``{true: {decision: cost}}``; what it leaves out is 0 for the true label, else 1.
        """
        found: Any = self._answer(X, "predict" if costs is None else "predict_proba")
        found = found if costs is None else decide(found, costs_by_label(costs, self.classes_)).labels
        return self.classes_[np.asarray(found)]

    def predict_proba(self, X: Table, class_prior: ArrayLike | ByLabel[float] | None = None) -> Array:
        """p(y = k | x), [N, K]; with ``class_prior``, given as to the constructor, for another population."""
        return self._answer(X, "predict_proba", class_prior)

    def predict_log_proba(self, X: Table, class_prior: ArrayLike | ByLabel[float] | None = None) -> Array:
        """log p(y = k | x), [N, K]; ``class_prior`` as for ``predict_proba``."""
        return self._answer(X, "predict_log_proba", class_prior)

    def predict_set(self, X: Table, s: float = 1.0, prior: str | None = None) -> list[Array]:
        """For each row the labels that no other dominates, whatever s pseudo-rows contain: ``nb.decide_set``.

        It is for tables of categories. By default these are those of the part without dependence, and the label of
        ``predict``.
        """
        found = decide_set(self, X, s, prior=prior)  # type: ignore[arg-type]
        sets = np.array(found.sets)
        if found.ignores_dependence:
            sets |= self.classes_ == self.predict(X)[:, None]
        return [self.classes_[own] for own in sets]

    def robustness(self, X: Table, prior: str | None = None) -> Array:
        """How many pseudo-rows would change the label of each row, [N]: the ``s_star`` of ``nb.robustness``.

        It is for tables of categories. By default it is that of the part without dependence, and 0 where this part has
        another label.
        """
        return np.asarray(own_s_star(self.fit_, self.encoded(X), prior))

    def predict_joint_log_proba(self, X: Table) -> Array:
        """log p(y = k, x), [N, K], including multinomial coefficients."""
        return self._answer(X, "log_joint")

    def _answer(self, X: Table, ask: str, class_prior: ArrayLike | ByLabel[float] | None = None) -> Array:
        rows = self.encoded(X)
        fit = self if class_prior is None else self.with_class_prior(class_prior)
        return np.asarray(use_rows(getattr(fit.fit_, ask), rows, self.schema_, self.classes_))

    def encoded(self, X: Table) -> Rows:
        """Checked rows, encoded as ``fit_`` takes them, by block if the columns have different likelihoods."""
        self._require_fitted()
        self.require_prior_of_fit()
        schema = self.schema_
        plain = schema.plain.encode(X) if isinstance(schema, Schema) and schema.named else None
        if plain is not None:
            return plain
        rows = check_features(self, X, reset=False)
        if isinstance(rows, Frame) and not schema.named:
            cells = fill_missing(rows.to_numpy())  # pd.NA is no number
            rows = validate_data(self, cells, reset=False, dtype="numeric", ensure_all_finite=False)
        return use_rows(schema.encode, rows, schema, self.classes_)

    @property
    def known_names(self) -> dict[str, object]:
        """The names of classes, columns and their values, as ``nb.explain`` and ``nb.top_features`` take them."""
        self._require_fitted()
        columns, single = self.schema_.names_by_block, self.fit_.model.single
        features = columns["x"] if single else columns
        names = {"column_names": self.schema_.names, "value_names": self.schema_.value_names}
        return {"class_names": [label(value) for value in self.classes_.tolist()], "feature_names": features, **names}

    @property
    def class_count_(self) -> Array:
        """Sums of weights by class [K]."""
        return np.asarray(self.statistics_.class_counts)

    @property
    def likelihoods_(self) -> dict[str, str]:
        """The likelihood of each column, or `skip`, by name."""
        return dict(zip(self.schema_.names, self.schema_.kinds, strict=True))

    @property
    def missing_evidence_(self) -> dict[str, float]:
        """log p(missing | y) / p(missing) of each column whose missing cells are informative, by its name.

        With n1k missing and n0k other cells in class k, B the Beta function and Beta(l, l) the prior, it is
        sum_k log B(l + n1k, l + n0k) / B(l, l) - log B(l + sum_k n1k, l + sum_k n0k) / B(l, l).
        """
        self._require_fitted()
        model = specification(self._asked(), self.schema_, self.classes_)
        return missing_evidence(self.schema_, model, self.statistics_)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = copy(self)
        if isinstance(self.likelihoods, Mapping):
            shown.likelihoods = dict(self.likelihoods)  # InferredLikelihoods print as a table
        parameters = super(NaiveBayesClassifier, shown).__repr__(N_CHAR_MAX)
        parameters = " ".join(line.strip() for line in parameters.splitlines())
        if not hasattr(self, "schema_"):
            return parameters
        learned = self.learned_.summary
        return f"{parameters}: {count_kinds(self.schema_.kinds)}{learned and '; '}{learned}"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.likelihoods)
        # the total of partly missing counts is unknown, and a covariance with missing cells has no closed form
        whole_rows = isinstance(self.likelihoods, Family) and self.likelihoods.one_feature
        tags.input_tags.allow_nan = not (whole_rows or self.likelihoods == "multinomial")
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = takes_counts(self)
        return tags
