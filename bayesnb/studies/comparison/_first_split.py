"""Further results from the first split alone: a check with NUTS, the dependence of columns, the evidence."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.core.fits._averaged import feature_inclusion
from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.fits._nuts import fit_nuts
from bayesnb.inspection._dependence import Dependence, dependence
from bayesnb.inspection._num_parameters import num_parameters
from bayesnb.inspection.sensitivity._decide_set import decide_set
from bayesnb.inspection.sensitivity._robustness import robustness
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import Split
from bayesnb.studies.comparison._method_fits import fit_learned_prior
from bayesnb.studies.comparison._metrics import set_scores


@dataclass(frozen=True)
class NutsCheck:
    """NUTS against the exact posterior on one training set of ``size`` rows.

    Attributes:
        num_rows: The number of test rows on which class probabilities were compared.
        max_difference, mean_difference: Absolute differences of the class probabilities.
        max_r_hat, min_ess: Largest split R-hat and smallest effective sample size of any parameter.
        num_draws: The number of draws in all chains.
        seconds: Wall time, including compilation.
        warnings: The sampler's warnings.
    """

    size: int
    num_rows: int
    max_difference: float
    mean_difference: float
    max_r_hat: float
    min_ess: float
    num_divergences: int
    num_draws: int
    num_chains: int
    seconds: float
    warnings: tuple[str, ...]


class Inclusion(NamedTuple):
    """A column, the posterior probability that it depends on the class, and the log Bayes factor for it."""

    column: str
    probability: float
    log_bayes_factor: float


@dataclass(frozen=True)
class Evidence:
    """The evidence of the priors, and of each column's dependence on the class, on one training set.

    Attributes:
        size: The number of training rows.
        full_bayes: log p(X, y) under the prior of full Bayes.
        learned_prior: The same under the prior learned from these rows.
        columns: All columns, sorted by decreasing evidence for dependence on the class.
    """

    size: int
    full_bayes: float
    learned_prior: float
    columns: tuple[Inclusion, ...]


def too_long_for_nuts(data: DataSet, num_fits: int) -> str | None:
    """A sentence if the check would take long beside a comparison of so many fits; else None.

    Both are counted, not timed: one command has one report on every machine.
    """
    number = num_parameters(data.bayes, data.table.X).total
    if num_fits >= limits.FITS_PER_PARAMETER * number:
        return None
    return (
        f"The check with NUTS was left out, because with {number:,} free parameters it would take long beside "
        f"{num_fits:,} fits: --nuts asks for it."
    )


def check_with_nuts(data: DataSet, split: Split, progress_bar: bool = False) -> NutsCheck:
    """A comparison of predictions from NUTS draws with the exact ones.

    At most 500 test rows are compared: averaging thousands of draws over tens of thousands of rows would take longer
    than the sampling, for no extra insight. With many columns, a few draws dominate the average of a row's joint
    density: the largest difference is then Monte Carlo noise even for a perfect sampler, so look at the mean.
    """
    (X, y), (X_test, _) = map(data.rows, split)
    X_test = {block: x[: limits.CHECK_ROWS] for block, x in X_test.items()}
    exact = fit_posterior(data.bayes, X, y).predict_proba(X_test)
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        steps: Any = dict.fromkeys(("num_samples", "num_warmup"), limits.CHECK_SAMPLES)
        key = jax.random.key(data.seed)
        draws = fit_nuts(data.bayes, X, y, key=key, progress_bar=progress_bar, **steps)
        difference = np.abs(draws.predict_proba(X_test) - exact)
    return NutsCheck(
        size=len(y),
        num_rows=len(exact),
        max_difference=float(difference.max()),
        mean_difference=float(difference.mean()),
        max_r_hat=float(draws.max_r_hat),
        min_ess=float(draws.min_ess),
        num_divergences=int(draws.num_divergences),
        num_draws=limits.CHECK_SAMPLES * int(draws.num_chains),
        num_chains=int(draws.num_chains),
        seconds=time.perf_counter() - started,
        warnings=tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning))),
    )


def dependent_columns(data: DataSet, split: Split) -> Dependence | None:
    """A test of the naive assumption on at most 2,000 training rows; None for a single column."""
    columns = data.table.columns
    if len(columns) < 2:
        return None
    X, y = data.rows(split.train)
    X = {block: x[: limits.PAIRED_ROWS] for block, x in X.items()}
    pairs = dependence(X, y[: limits.PAIRED_ROWS], model=data.bayes)
    return replace(pairs, names=tuple(str(column.name) for column in columns))


def compute_evidence(data: DataSet, split: Split) -> Evidence:
    """The evidence of the given prior, the learned prior and every column, on the training set."""
    X, y = data.rows(split.train)
    learned = fit_learned_prior(data.bayes, X, y)
    columns: list[Inclusion] = []
    probability, factor = feature_inclusion(data.bayes, statistics=learned.statistics)
    for block in probability:
        names = [str(column.name) for column in data.table.blocks[block]]
        columns += map(Inclusion, names, probability[block].tolist(), factor[block].tolist())
    columns.sort(key=lambda column: -column.log_bayes_factor)
    return Evidence(len(y), float(learned.start_log_evidence), float(learned.log_evidence), tuple(columns))


def say_robustness(data: DataSet, split: Split, s: float = 1.0) -> str:
    """How robust the decisions of full Bayes on the test rows of a table of categories are, for a paper.

    Beside it stand the scores of the classes that no other dominates with s pseudo-rows.
    """
    (X, y), (X_test, y_test) = map(data.rows, split)
    post = fit_posterior(data.bayes, X, y)
    found, sets = robustness(post, X_test), decide_set(post, X_test, s).sets
    scores = set_scores(np.asarray(sets), y_test) | {"accuracy": float(np.mean(found.labels == y_test))}
    named = ", ".join(f"{name} {scores[name]:.3f}" for name in ("accuracy", "determinacy", "u65", "u80"))
    return f"Full Bayes on the first split, n = {len(y):,}: {found.sentence()}. With s = {s:g}: {named}."
