"""What a fit returns: parameters or a posterior (draws from it are in ``draws``), and predictions from each.

Every result reduces to one table, log p(y = k, x) of shape [N, K], and everything else is a normalisation of it.
numpy rows give numpy answers, JAX rows JAX answers; results are pytrees and predict inside jit, vmap and grad.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import answers_cpu_rows, interpret
from bayesnb.compute.arrays._placement import (
    Node,
    is_traced,
    on_host,
    promote_dtypes,
    pytree,
    read_only,
    short_repr,
    to_host,
)
from bayesnb.compute.arrays._typing import Array, ArrayLike, Rows
from bayesnb.compute.jaxpr_numpy import has_numpy_form
from bayesnb.compute.numerics._log_prob import LogProb, logsumexp
from bayesnb.compute.primitives.products._linear_scores import Score, prepare_likelihood
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results import _bounds as bounds
from bayesnb.core.results import _generate as generate
from bayesnb.core.results import _intervals as intervals
from bayesnb.core.results._combine import Powers, check_powers, raise_to_powers
from bayesnb.core.results._evidence import EvidenceTable, evidence_table, quadrature_errors
from bayesnb.core.results._intervals import Interval, ParameterDraws
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_rows, columns_of, totals_vary
from bayesnb.core.rows._sufficient_statistics import ModelStatistics


class Classifier(Node):
    """A generative classifier. X is an array [N, D], or a dict of arrays by block; K classes.

    Inside a JAX transformation cells are checked by ``checkify`` alone, as ``fit_mle`` says.
    """

    if TYPE_CHECKING:  # a dataclass would take a property for the default of its field

        @property
        def model(self) -> NaiveBayes:
            """The model that predicts."""

    @answers_cpu_rows
    def log_joint(self, X: Rows) -> Array:
        """log p(y = k, x) of each row, [N, K]; -inf where the class is impossible."""
        arrays = self.arrays(X)
        base = self.model.row_base_measure(arrays)
        return self._score_rows(arrays).log() + (base if isinstance(base, float) else base[:, None])

    @answers_cpu_rows
    def log_density(self, X: Rows) -> Array:
        """log p(x) = log sum_k p(y = k, x) of each row, [N]; low for outliers."""
        return logsumexp(self.log_joint(X))

    @answers_cpu_rows
    def predict_log_proba(self, X: Rows) -> Array:
        """log p(y = k | x), [N, K]. If all classes are impossible, only those with fewest impossible features count."""
        return self._score_rows(self.arrays(X)).normalise()

    @answers_cpu_rows
    def predict_proba(self, X: Rows) -> Array:
        """p(y = k | x), [N, K]; each row sums to one."""
        return self._score_rows(self.arrays(X)).shares()

    @answers_cpu_rows
    def predict(self, X: Rows) -> Array:
        """The most probable class of each row, integers [N]."""
        return self._score_rows(self.arrays(X)).best()

    def generate(
        self,
        *,
        key: Array,
        num_rows: int,
        num_datasets: int | None = None,
        total_count: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array | dict[str, Array], Array]:
        """Labelled rows of the fitted model: X in its blocks, and y.

        A point estimate generates from its parameters; other fits each row from its own draw of them, or with
        ``num_datasets`` the rows [R, N, ...] of each of R sets from one (Gelman et al., Bayesian Data Analysis, 6.3).
        ``total_count``, a number, one per row, or a dict by block, are sums of Multinomial rows, or trials of Binomial
        cells that the model leaves open. ValueError if it is missing, unused or not whole, or a number not positive.
        """
        arguments.check_key(key)
        arguments.check_counts(num_rows=num_rows, num_datasets=1 if num_datasets is None else num_datasets)
        varying = [name for name, family in self.model.families.items() if totals_vary(family)]
        totals = arguments.check_total_count(varying, num_rows, total_count)
        return generate.generate(self, key, num_rows, num_datasets, totals)

    def predict_interval(self, X: Rows, level: float = 0.9, *, key: Array, num_draws: int = 1000) -> Interval:
        """Equal-tailed credible intervals of P(y = k | x, theta) for uncertain theta: ``low`` and ``high`` [N, K].

        The ends are quantiles of draws of theta. ValueError for a level outside (0, 1), and for a point estimate.
        """
        return intervals.probability_interval(self._draw_parameters(X, level, key, num_draws))

    def contribution_interval(
        self, X: Rows, level: float = 0.9, *, key: Array, num_draws: int = 1000, against: int = 0
    ) -> Interval | dict[str, Interval]:
        """Equal-tailed credible intervals of what each feature adds to the log odds of class k against another class.

            w_d (log p(x_d | k, theta) - log p(x_d | against, theta))

        with powers w_d; ``low`` and ``high`` [N, K, D], [N, K, 1] if the block is one feature, or a dict by block.
        """
        found = intervals.contribution_interval(self._draw_parameters(X, level, key, num_draws), against)
        return found["x"] if self.model.single else found

    def _draw_parameters(self, X: Any, level: float, key: Array, num_draws: int) -> ParameterDraws:
        return intervals.draw_parameters(self, self.arrays(X), key, num_draws, level)

    @property
    def draws_at_once(self) -> int | None:
        """How many draws of the parameters may be in memory at once; None if they already are."""
        return None

    @abstractmethod
    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """Parameters [S, ...], and the index among them of each independent draw, [num_draws]."""

    @abstractmethod
    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same fit for a population with these class probabilities [K]."""

    def columns(self) -> Mapping[str, int | None]:
        """The number of columns of each block."""
        return self.model.columns

    @abstractmethod
    def _scorer(self) -> Score:
        """The function that gives log p(y = k, x) of checked rows without the base measure, [N, K]."""

    @promote_dtypes
    def scores(self, arrays: Mapping[str, Array]) -> LogProb:
        """log p(y = k, x) of checked rows without the base measure, [N, K]. Pure JAX."""
        return self._scorer()(arrays)

    def arrays(self, X: Rows) -> dict[str, Array]:
        """Rows [N, D] by block, checked against the fit; ValueError if they do not fit."""
        model = arguments.require_one_fit(self.model)
        traced, _ = self._place
        return check_rows(model.families, model.single, model.by_block(X), self.columns(), sparse=not traced)

    def _score_rows(self, arrays: dict[str, Array]) -> LogProb:
        """The scores of checked rows: numpy rows on the host, wherever the fit is; JAX rows in one compiled call."""
        traced, at_host = self._place
        if traced or not (on_host(arrays) or (is_traced(arrays) and at_host)):
            return _scores(self, arrays)
        # under a user's jit, too, the tables of a fit of numpy arrays are computed only once
        return self.host_score(arrays)

    @cached_property
    def _place(self) -> tuple[bool, bool]:
        """Whether the fit's numbers are traced, and whether they are numpy's."""
        leaves = jax.tree.leaves(self)
        return is_traced(leaves), on_host(leaves)

    @cached_property
    def host_score(self) -> Score:
        """The scorer of numpy rows, cached at the first prediction."""
        return (self if self._place[1] else to_host(self))._scorer()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_place", "host_score")}


_scores = jax.jit(Classifier.scores)


@pytree
class PointEstimate(Classifier):
    """A model at one value of its parameters: the MLE, the MAP, or given parameters.

    Args:
        model: The specification.
        params: By site: ``class_probs`` [K], ``block_probs`` [K, D, ...], ``block_loc`` and ``block_variance`` [K, D].

    Raises:
        ValueError: for missing, unknown or ill-shaped sites, and for invalid values.

    Example:
        >>> import bayesnb as nb
        >>> params = {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0.01], [0.4, 0.1]]}  # known from elsewhere
        >>> nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params).predict_proba([[1, 1]]).round(3)
        array([[0.375, 0.625]])
    """

    model: NaiveBayes
    params: Sites

    def __init__(self, model: NaiveBayes, params: Mapping[str, ArrayLike]) -> None:
        self.__dict__.update(model=model, params=jax.tree.map(read_only, arguments.check_params(model, params)))

    @classmethod
    def trust(cls, model: NaiveBayes, params: Sites) -> Self:
        """An estimate from parameters that need no check, such as those that a fit computed."""
        estimate = object.__new__(cls)
        estimate.__dict__.update(model=model, params=params)
        return estimate

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same parameters for a population with these class probabilities [K]."""
        model = self.model.with_class_probs(class_probs)
        own = {**self.model.own_params(self.params), "class_probs": model.class_mean()}
        return type(self)(model, model.to_sites(own))

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """The parameters themselves, ``num_draws`` times."""
        del key
        return {site: value[None] for site, value in self.params.items()}, np.zeros(num_draws, np.int32)

    def columns(self) -> dict[str, int | None]:
        """The number of columns of each block."""
        blocks = self.model.block_params(self.params)
        return {b: columns_of(f, blocks[b]) for b, f in self.model.families.items()}

    def _draw_parameters(self, X: Any, level: float, key: Array, num_draws: int) -> ParameterDraws:
        del X, level, key, num_draws
        raise ValueError("a point estimate has no posterior uncertainty: use fit_posterior or fit_nuts")

    def _scorer(self) -> Score:
        return prepare_likelihood(self.model, self.params)


@pytree
class Posterior(Classifier):
    """The exact posterior: ``prior`` and ``model`` are the model before and after the rows of ``statistics``.

    Predictions integrate the parameters out. Hyperparameters that the data resolved are part of ``prior``. With
    ``powers``, which ``temper`` learns, only p(k | x) changes, to p(k)^a prod_d p(x_d | k)^w_d over its sum: arrays by
    block, [D], [V D] of ``Views``, or [1] for the whole block. ``weights`` is another name of theirs. With
    ``length_exponents``, b by Multinomial block, a row of n words has the power min(1, c (1 + n)^-b), where c is the
    block's; the ``class_power`` is a, or 1 if it is None.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> post.prior.families["x"].a.tolist(), post.model.families["x"].a.tolist()
        ([[1.0], [1.0]], [[3.0], [1.0]])
    """

    prior: NaiveBayes
    model: NaiveBayes
    statistics: ModelStatistics
    powers: dict[str, Array] | None = None
    length_exponents: dict[str, Array] | None = None
    class_power: Array | None = None

    def __init__(
        self,
        prior: NaiveBayes,
        model: NaiveBayes,
        statistics: ModelStatistics,
        powers: dict[str, Array] | None = None,
        length_exponents: dict[str, Array] | None = None,
        class_power: Array | None = None,
        **alias: dict[str, Array] | None,
    ) -> None:
        if alias.keys() - {"weights"}:
            raise TypeError(f"a Posterior takes prior, model, statistics and powers, got {sorted(alias)[0]!r}")
        self.__dict__.update(prior=prior, model=model, statistics=statistics, powers=alias.get("weights", powers))
        self.__dict__.update(length_exponents=length_exponents, class_power=class_power)

    @property
    def weights(self) -> dict[str, Array] | None:
        """The ``powers``, by the name that they had in version 0.1.0."""
        return self.powers

    @property
    def all_powers(self) -> Powers | None:
        """The powers of a prediction; None if all are 1."""
        return None if self.powers is None else Powers(self.powers, self.length_exponents or {}, self.class_power)

    def __repr__(self) -> str:
        counts = short_repr(self.statistics.class_counts)
        return f"{type(self).__name__}(prior={self.prior!r}, class_counts={counts}{self.describe_powers()})"

    def describe_powers(self) -> str:
        """The powers that there are, as ``repr`` has them."""
        given = {name: vars(self)[name] for name in ("powers", "length_exponents", "class_power")}
        return "".join(f", {name}={short_repr(value)}" for name, value in given.items() if value is not None)

    @property
    def log_evidence(self) -> Array:
        """log p(X, y), the log marginal likelihood given the resolved prior, base measure included: a float64 scalar.

        With sample weights or soft labels it is that of the weighted likelihood, which is not a probability of data.
        """
        return self.evidence_table().total

    @property
    def errors(self) -> dict[str, dict[str, Array]]:
        """The errors of integrals, in nats, by block of ``Likelihood``: ``lattice``, ``rim``, ``binning``, [K, D]."""
        return {b: errors for b, f in self.model.families.items() if (errors := quadrature_errors(f))}

    def evidence_table(self) -> EvidenceTable:
        """The log evidence in parts that add up: ``labels``, log p(y), and ``features``, [K, D] by block."""
        return evidence_table(arguments.require_one_fit(self.prior), self.statistics)

    def sample(self, key: Array, num_samples: int) -> Sites:
        """Independent exact draws of the parameters by site, [num_samples, K, ...]; key is a ``jax.random.key``.

        A key fixes the draws, and more draws begin with the same ones; those on the host and on a device differ.
        """
        arguments.check_key(key)
        arguments.check_draws(arguments.require_one_fit(self.model), num_samples=num_samples)
        if on_host(self.model) and not is_traced(key) and has_numpy_form(key):
            pieces = [
                interpret(generate.sample_some, self.model, to_host(key), start, total=num_samples, size=stop - start)
                for start in range(0, num_samples, self.draws_at_once)
                if (stop := min(start + self.draws_at_once, num_samples))
            ]
            return {site: np.concatenate([piece[site] for piece in pieces]) for site in pieces[0]}
        # powers of two limit the sizes that are compiled; the first keys of a split do not depend on its length
        size = 1 << (num_samples - 1).bit_length()
        draws = generate.sample_some(self.model, key, 0, total=size, size=size)
        return {site: value[:num_samples] for site, value in draws.items()}

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same posterior for another population; prior, statistics and so the evidence stay those of the fit."""
        return replace(self, model=self.model.with_class_probs(class_probs))

    def with_powers(
        self,
        powers: ArrayLike | Mapping[str, ArrayLike],
        *,
        length_exponents: ArrayLike | Mapping[str, ArrayLike] | None = None,
        class_power: ArrayLike | None = None,
    ) -> Self:
        """The same posterior with these powers on the features' likelihoods, as if ``temper`` had learned them.

        Args:
            powers: A number for all features, of which views keep their shares; or one for each, [F], block by block: a
                Multinomial or MultivariateNormal has one, ``Views`` V a column; or a dict by block, as ``powers``
                is, or of numbers.
            length_exponents: b from 0 to 1, for all Multinomial blocks or by block; None: any length has one power.
            class_power: a, not negative; None for 1.

        Raises:
            ValueError: for powers of another shape, and negative or infinite ones.

        Example:
            >>> import bayesnb as nb
            >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1]], [1, 1, 0])
            >>> post.with_powers(0.5).powers, post.with_powers([1.0, 0.0]).powers
            ({'x': array([0.5])}, {'x': array([1., 0.])})
        """
        return replace(self, **check_powers(self.prior, powers, length_exponents, class_power))

    def predict_bounds(self, X: Rows, s: float = 1.0, prior: str | None = None) -> Interval:
        """Bounds of p(y = k | x) over priors, ``low`` and ``high`` [N, K]: every site has s pseudo-rows of its own.

        A site is a class's parameter of a column, or the class probabilities. Its pseudo-rows, of any content, are
        added to the fit, or with ``prior="vacuous"`` are in the place of its prior: the imprecise Dirichlet model. Both
        ends are attained. Of a default fit they are those of its part without dependence. The formulas:
        docs/theory/robustness.md. ValueError for columns that are no categories, and for a negative or infinite s.
        """
        return bounds.predict_bounds(self, X, s, prior)

    @answers_cpu_rows
    def log_joint(self, X: Rows) -> Array:
        """log p(y = k, x) of each row, [N, K]: with ``powers``, log p(y = k | x) plus the model's log p(x)."""
        if self.powers is None:
            return super().log_joint(X)
        return self.predict_log_proba(X) + replace(self, powers=None).log_density(X)[:, None]

    @property
    def draws_at_once(self) -> int:
        """A power of two, so that the draws take little memory."""
        numbers = sum(math.prod(np.shape(leaf)) for leaf in jax.tree.leaves(self.model))
        return min(limits.DRAWS_AT_ONCE, 1 << max(limits.DRAWS_BYTES // (8 * numbers), 1).bit_length() - 1)

    def draws(self, key: Array, num_draws: int) -> tuple[Sites, Array]:
        """Independent draws from the posterior."""
        return self.sample(key, num_draws), np.arange(num_draws)

    def _scorer(self) -> Score:
        return raise_to_powers(self.model, self.all_powers)


def class_probs(fit: Classifier) -> Array:
    """p(y = k) in predictions, before it is raised to its power, [K]."""
    return fit.model.class_probs_of(fit.params) if isinstance(fit, PointEstimate) else fit.model.class_mean()
