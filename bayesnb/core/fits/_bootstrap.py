"""The bootstrap: how much a fit would vary over other samples of rows from the same population.

    w_rn ~ Poisson(1) for every row, or w_r ~ Multinomial(N; 1/N, ..., 1/N),
    theta_r = argmax p(X, y | theta) with the weights w_r,    r = 1..R

Each replicate is one pass over the rows. Efron, Bootstrap methods: another look at the jackknife (1979); Efron and
Tibshirani, An introduction to the bootstrap (1993), chapters 6 and 13. Poisson weights: Hanley and MacGibbon, Creating
non-parametric bootstrap samples using Poisson frequencies (2006); Chamandy, Muralidharan, Najmi and Naidu, Estimating
uncertainty for massive data streams (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import numpy as np

from bayesnb.compute.arrays import _memory as memory
from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._loops import in_threads
from bayesnb.compute.arrays._placement import Node, leading_size, pytree, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.primitives.sums import Labels
from bayesnb.core.families.parts._support import require_choice
from bayesnb.core.fits._closed_form import CLOSED_FORMS, fit_map, fit_mle, require_fit, require_maxima
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.results._classifier import PointEstimate
from bayesnb.core.results._intervals import Interval, ParameterDraws, probability_interval, tails
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import label_rows
from bayesnb.core.rows._model_statistics import ModelStatistics
from bayesnb.core.rows._sufficient_statistics import from_host, summarise

SCHEMES = ("poisson", "multinomial")


@pytree
class Bootstrap(Node):
    """``estimate`` is the fit to the rows themselves; ``params`` are those of all R replicates, [R, ...] by site.

    Example:
        >>> import jax, bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [6.0], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
        >>> found = nb.bootstrap(nb.NaiveBayes(nb.NormalKnownVariance(1.0)), X, y, key=jax.random.key(0), replicates=50)
        >>> low, high = found.interval(level=0.9)["x_loc"]
        >>> ((low < found.estimate.params["x_loc"]) & (found.estimate.params["x_loc"] < high)).tolist()
        [[True], [True]]
    """

    estimate: PointEstimate
    params: Sites

    @property
    def standard_errors(self) -> Sites:
        """The standard deviation of each parameter over the replicates, by site."""
        if leading_size(self.params) < 2:
            raise ValueError("a standard error needs two replicates: give replicates=1000")
        return {site: value.std(axis=0, ddof=1) for site, value in self.params.items()}

    def interval(self, level: float = 0.9) -> dict[str, Interval]:
        """Percentile intervals of the parameters by site; ``level``, inside (0, 1), is the probability inside."""
        ends = tails(level)
        return {site: Interval(*np.quantile(value, ends, axis=0)) for site, value in self.params.items()}

    def predict_interval(self, X: Rows, level: float = 0.9) -> Interval:
        """Percentile intervals of P(y = k | x, theta_r), [N, K]; X as in the fit, and ``level`` as in ``interval``."""
        ends, arrays = tails(level), self.estimate.arrays(X)
        return probability_interval(ParameterDraws(self.estimate.model, self.params, None, arrays, ends))


def bootstrap(
    model: NaiveBayes,
    X: Rows,
    y: LabelsLike,
    *,
    key: Array,
    replicates: int = 1000,
    sample_weight: ArrayLike | None = None,
    fit: Callable[..., PointEstimate] = fit_mle,
    scheme: str = "poisson",
) -> Bootstrap:
    """The fit to rows and to random re-weightings of them, for standard errors and percentile intervals.

    Replicate r equals ``fit(model, X, y, sample_weight=w)``: w is row r of ``bootstrap_weights`` for the rows of
    positive weight, times the sample weights if given. Arguments not listed are as in ``fit_mle``.

    Args:
        key: A ``jax.random.key``.
        replicates: R, the number of re-weightings.
        fit: ``fit_mle`` or ``fit_map``.
        scheme: "poisson" for independent Poisson(1) weights, "multinomial" for N rows sampled with replacement.

    Raises:
        ValueError: as ``fit`` does, for the rows or for a replicate; and for an invalid fit, scheme or number.

    Example:
        >>> import jax, bayesnb as nb
        >>> X, y = [[1.0], [2.0], [3.0], [6.0], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
        >>> found = nb.bootstrap(nb.NaiveBayes(nb.NormalKnownVariance(1.0)), X, y, key=jax.random.key(0), replicates=50)
        >>> found.params["x_loc"].shape, found.estimate.params["x_loc"].tolist()
        ((50, 2, 1), [[2.0], [7.0]])
    """
    arguments.check_model(model)
    arguments.check_key(key)
    arguments.check_counts(replicates=replicates)
    require_choice("bootstrap", "scheme", scheme, SCHEMES)
    require_fit(fit, fit_mle, fit_map, advice=": a posterior has credible intervals instead, see predict_interval")
    arguments.require_known("bootstrap", model, X, y, sample_weight, key)
    model, X, y, sample_weight = to_host((model, X, y, sample_weight))
    rows = label_rows(model, X, y, sample_weight).drop_unused()
    estimate = fit(model, statistics=summarise(rows, evidence=False))
    if not rows.num_rows:
        raise ValueError("the bootstrap resamples rows: give at least one row with a positive weight")
    arguments.check_draws(estimate.params, replicates=replicates)
    seed = np.asarray(jax.random.key_data(key)).tolist()

    def of_replicate(replicate: int) -> ModelStatistics:
        y, own = rows.labels
        weight = _weights(seed, rows.num_rows, replicate, scheme) * (1.0 if own is None else own)
        labels = Labels(y * weight[:, None], None) if rows.labels.soft else Labels(y, weight)
        return from_host(replace(rows, labels=labels), evidence=False)

    statistics = jax.tree.map(lambda *leaves: np.stack(leaves), *in_threads(of_replicate, range(replicates)))
    params = compute(_fit_replicates, model, statistics, formula=CLOSED_FORMS[fit])
    if fit is fit_mle:
        require_maxima(estimate.model, params, statistics, "bootstrap replicate")
    return Bootstrap(estimate, params)


def bootstrap_weights(key: Array, num_rows: int, replicates: int, scheme: str = "poisson") -> Array:
    """The weights of every replicate, whole numbers [R, N]; the first ones do not depend on how many follow.

    Poisson weights that are all zero are sampled again. Arguments and errors as in ``bootstrap``.
    """
    arguments.check_key(key)
    arguments.check_counts(num_rows=num_rows, replicates=replicates)
    memory.require(num_rows * replicates, f"replicates={replicates:,} of {num_rows:,} weights", "give fewer")
    require_choice("bootstrap_weights", "scheme", scheme, SCHEMES)
    seed = np.asarray(jax.random.key_data(key)).tolist()
    return np.stack([_weights(seed, num_rows, replicate, scheme) for replicate in range(replicates)])


def _weights(seed: list[int], num_rows: int, replicate: int, scheme: str) -> Array:
    rng = np.random.default_rng([*seed, replicate])
    # independent Poisson(1) weights are the counts of Poisson(N) rows sampled with replacement
    total = 0 if scheme == "poisson" else num_rows
    while not total:
        total = rng.poisson(num_rows)
    return np.bincount(rng.integers(0, num_rows, total), minlength=num_rows).astype(np.uint8)


@partial(jax.jit, static_argnames="formula")
def _fit_replicates(model: NaiveBayes, statistics: ModelStatistics, formula: Callable[..., Sites]) -> Sites:
    return jax.vmap(lambda one: formula(model.resolve(statistics=one), one))(statistics)
