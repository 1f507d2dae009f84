"""Diagnostics on one training set, that of the first split: NUTS, the dependence of columns, the evidence.

One set is enough to see whether the sampler agrees, which columns depend on each other, and which on the class.
"""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.comparison.compare import make_splits
from bayesnb.comparison.methods import bayes_model, learned_prior
from bayesnb.files.tables.table import Table
from bayesnb.fits.averaged import feature_inclusion
from bayesnb.fits.closed_form import fit_posterior
from bayesnb.fits.nuts import fit_nuts
from bayesnb.inspection.dependence import Dependence, dependence

Array = np.ndarray[Any, Any]

MOST_CHECKED_ROWS = 500
MOST_PAIRED_ROWS = 2000  # enough to separate strong pairs from weak ones, in a fraction of a second
CHECK_SAMPLES = 500  # draws per chain, and warm-up steps: enough for a check, and most of the time is compilation


@dataclass(frozen=True)
class NutsCheck:
    """NUTS against the exact posterior on one training set.

    Attributes:
        size: The number of training rows.
        num_rows: The number of test rows on which the probabilities were compared.
        max_difference: Largest absolute difference of a class probability from the exact one.
        mean_difference: Mean absolute difference.
        max_r_hat: Largest split R-hat of any parameter.
        min_ess: Smallest effective sample size of any parameter.
        num_divergences: The number of divergent transitions.
        num_draws: The number of draws in all chains.
        num_chains: The number of chains.
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


def check_with_nuts(
    table: Table, size: int, seed: int, num_samples: int = CHECK_SAMPLES, progress_bar: bool = False
) -> NutsCheck:
    """Draw from the posterior of the first split by NUTS and compare its predictions with the exact ones.

    At most 500 test rows are compared: averaging thousands of draws over tens of thousands of rows would take longer
    than the sampling, for no extra insight. With many columns, a few draws dominate the average of a row's joint
    density: the largest difference is then Monte Carlo noise even for a perfect sampler, so look at the mean.
    """
    split = make_splits(table, 1, seed)[0]
    X, y = table.rows(split.train[:size])
    X_test, _ = table.rows(split.test[:MOST_CHECKED_ROWS])
    model = bayes_model(table)
    exact = fit_posterior(model, X, y).predict_proba(X_test)
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draws = fit_nuts(
            model,
            X,
            y,
            key=jax.random.key(seed),
            num_samples=num_samples,
            num_warmup=num_samples,
            progress_bar=progress_bar,
        )
        sampled = draws.predict_proba(X_test)
    seconds = time.perf_counter() - started
    return NutsCheck(
        size=size,
        num_rows=len(exact),
        max_difference=float(np.max(np.abs(sampled - exact))),
        mean_difference=float(np.mean(np.abs(sampled - exact))),
        max_r_hat=float(draws.max_r_hat),
        min_ess=float(draws.min_ess),
        num_divergences=int(draws.num_divergences),
        num_draws=num_samples * int(draws.num_chains),
        num_chains=int(draws.num_chains),
        seconds=seconds,
        warnings=tuple(dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning))),
    )


def dependent_columns(table: Table, size: int, seed: int) -> Dependence | None:
    """Test the naive assumption on the first training set, at most 2,000 rows of it; None for a single column."""
    if len(table.columns) < 2:
        return None
    X, y = _training_rows(table, min(size, MOST_PAIRED_ROWS), seed)
    return replace(dependence(X, y, model=bayes_model(table)), names=tuple(str(c.name) for c in table.columns))


def weigh_evidence(table: Table, size: int, seed: int) -> Evidence:
    """The evidence of the given and the learned prior, and of every column, on the first training set."""
    model = bayes_model(table)
    X, y = _training_rows(table, size, seed)
    learned = learned_prior(model, X, y)
    probability, factor = feature_inclusion(model, statistics=learned.statistics)
    columns = [
        Inclusion(str(column.name), float(p), float(log_bf))
        for block, described in table.blocks.items()
        for column, p, log_bf in zip(described, probability[block], factor[block], strict=True)
    ]
    columns.sort(key=lambda column: -column.log_bayes_factor)
    return Evidence(size, float(learned.start_log_evidence), float(learned.log_evidence), tuple(columns))


def _training_rows(table: Table, size: int, seed: int) -> tuple[dict[str, Array], Array]:
    return table.rows(make_splits(table, 1, seed)[0].train[:size])
