"""Two methods, or several, over many data sets: Bayesian signed ranks, a hierarchical model, and tests of hypotheses.

A set is one number here, the mean difference of two methods, or that number with its error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from numpyro.diagnostics import split_gelman_rubin
from scipy import stats

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._typing import Array, ArrayLike
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.core.fits import _sampler as sampler
from bayesnb.studies.comparison._paired import Difference, Regions, check_rope

NUM_DRAWS = 50_000
PRIOR_WEIGHT = 0.5  # of the signed rank's one observation at 0, beside 1 for each set
NUM_CHAINS = 4
NUM_TAILS = 64
MOST_DIVERGENT = 0.005  # of the draws of the hierarchical model, whose true differences may be equal
NORMAL = 1e4  # degrees of freedom, from which a Student t is a Normal
LEAST_ERROR = 1e-3  # of a set in the hierarchical model, in units of a typical difference: two methods may be equal


class OverSets(NamedTuple):
    """The posterior of the average difference, its mean and 95 % interval, and how probably most lie in each region."""

    mean: float
    low: float
    high: float
    regions: Regions
    estimator: str


def signed_rank(differences: ArrayLike, rope: float = 0.0, *, seed: int) -> OverSets:
    """The Bayesian signed-rank test: a Dirichlet process for the differences of sets, of which two are averaged.

        w ~ Dirichlet(1/2, 1, ..., 1),  z_0 = 0,    theta_above = sum_ij w_i w_j [(z_i + z_j) / 2 > r]

    and likewise below -r; a sum that lies at the limit counts half on either side. Benavoli, Mangili, Corani, Zaffalon,
    Ruggeri, A Bayesian Wilcoxon signed-rank test based on the Dirichlet process (2014), with its prior observation at
    0. The average difference is sum_i w_i z_i.

    Args:
        differences: The mean difference of each set [S].
        rope: r, up to which a difference is none.
        seed: Of the draws.

    Raises:
        ValueError: without a set, for a difference that is not finite, or a negative ``rope``.
    """
    check_rope(rope)
    z = np.asarray(differences, float)
    if z.ndim != 1 or not len(z) or not np.isfinite(z).all():
        raise ValueError(f"differences must be finite numbers [S], one for each set, got {z.tolist()}")
    z = np.append(0.0, z)
    weights = np.random.default_rng(seed).dirichlet(np.where(np.arange(len(z)), 1.0, PRIOR_WEIGHT), NUM_DRAWS)
    sums = z[:, None] + z

    def share(which: Array) -> Array:
        return np.sum((weights @ which) * weights, axis=1)

    below, above = (share(np.heaviside(sign * sums - 2 * rope, 0.5)) for sign in (-1, 1))
    return _summary(weights @ z, below, above, "Bayesian signed rank")


@cache
def _tails() -> tuple[Array, Array]:
    """Degrees of freedom that are equally probable under their prior, and the log of a Student t's peak with each."""
    middles = [np.linspace(a, b, 20) for a, b in ((0.5, 5.0), (0.05, 0.15), (0.005, 0.995))]
    shape, rate, share = np.meshgrid(*middles)
    freedom = np.quantile(1 + stats.gamma.ppf(share, shape, scale=1 / rate), (np.arange(NUM_TAILS) + 0.5) / NUM_TAILS)
    return freedom, stats.t.logpdf(0.0, freedom)


def _population(bound: Array, unit: Array, tails: tuple[Array, Array], observed: tuple[Array, Array, Array]) -> Array:
    """The NumPyro program: what the sets have in common, and the true difference of each [S].

    The degrees of freedom are summed out: without them chains mix better, and compile in less time.
    """
    average = numpyro.sample("average", dist.Uniform(-bound, bound))
    spread = numpyro.sample("spread", dist.HalfCauchy(unit))
    with numpyro.plate("sets", len(observed[0])):
        apart = numpyro.sample("apart", dist.ImproperUniform(dist.constraints.real, (), ()))
    freedom, peak = tails
    terms = peak - (freedom + 1) / 2 * jnp.log1p(apart[:, None] ** 2 / freedom)  # log t(apart), [S, tails]
    numpyro.factor("student_t", jax.nn.logsumexp(numpyro.deterministic("tails", terms.sum(0))))
    return average + spread * apart


def _log_likelihood(true: Array, *data: Any) -> Array:
    """Of Student t's, but for what does not depend on ``true``."""
    means, errors, freedom = data[-1]
    return -jnp.sum((freedom + 1) / 2 * jnp.log1p(((means - true) / errors) ** 2 / freedom))


HIERARCHY = sampler.Target(_population, _log_likelihood)


def hierarchical(differences: Sequence[Difference], rope: float = 0.0, *, seed: int, draws: int = 2000) -> OverSets:
    """Sets whose true differences come from one Student t: a set with few rows, or a large error, counts less.

        delta_j ~ t_nu(delta_0, sigma_0),    mean_j ~ t_df(delta_j, error_j)

    Corani, Benavoli, Demsar, Mangili, Zaffalon, Statistical comparison of classifiers through Bayesian hierarchical
    modelling (2017), with what one set tells of delta_j by any of the estimators of one set: with the corrected
    resampled t, it is their likelihood with the set's own variance integrated out. Their priors: delta_0 uniform, nu =
    1 + Gamma(a, b) with uniform a in (.5, 5) and b in (.05, .15); but sigma_0 is half-Cauchy, of the size of the means,
    as a uniform one has no proper posterior for two sets. By NUTS, 4 chains.

    Args:
        differences: One for each set, with errors.
        rope: Up to which a difference is none.
        seed: Of the sampler.
        draws: Of each chain, after as many that adapt it.

    Warns:
        UserWarning: for an R-hat above 1.01, or where more than one transition in 200 diverged.

    Raises:
        ValueError: with fewer than two sets, or for one without an error.
    """
    check_rope(rope)
    means, errors, freedom = (
        np.array([getattr(d, name) for d in differences], float) for name in ("mean", "error", "freedom")
    )
    if len(means) < 2 or not np.isfinite([means, errors]).all():
        raise ValueError(
            f"a hierarchical model takes two sets or more, each with a mean and an error; got means {means.tolist()} "
            f"and errors {errors.tolist()}: leave out sets with one split"
        )
    # in units of a typical difference, so that one program and float32 serve all scales
    unit = float(np.sqrt(np.mean(means**2 + errors**2))) or 1.0
    means, errors, rope = means / unit, np.maximum(errors / unit, LEAST_ERROR), rope / unit
    bound, spread = np.max(np.abs(means) + 3 * errors), np.maximum(np.std(means), LEAST_ERROR)
    tails, peaks = _tails()
    data = float(bound), float(spread), (tails, peaks), (means, errors, np.minimum(freedom, NORMAL))
    found, about = sampler.sample(
        HIERARCHY,
        data,
        jax.random.key(seed),
        num_samples=draws,
        num_warmup=draws,
        num_chains=NUM_CHAINS,
        progress_bar=False,
        start={},  # uniform, which compiles in half the time of the prior's median
    )
    each = found.pop("tails")
    drawn = np.argmax(each + np.random.default_rng(seed).gumbel(size=each.shape), axis=1)
    next_set = stats.t(tails[drawn], found["average"], np.maximum(found["spread"], np.finfo(float).tiny))
    name = _name(found, int(about["diverging"].sum()))
    return _summary(found["average"] * unit, next_set.cdf(-rope), next_set.sf(rope), name)


def _summary(averages: Array, below: Array, above: Array, estimator: str) -> OverSets:
    """Of draws of the average, and of the probabilities of a new set below and above."""
    counts = np.bincount(np.argmax([below, 1 - below - above, above], axis=0), minlength=3)
    low, high = np.quantile(averages, [0.025, 0.975])
    regions = Regions(*(counts / len(below)).tolist())
    return OverSets(float(averages.mean()), float(low), float(high), regions, estimator)


def _name(found: Mapping[str, Array], diverged: int) -> str:
    """The estimator's name, with divergent transitions; a warning for what makes it unreliable."""
    chains = (np.reshape(values, (NUM_CHAINS, -1, *np.shape(values)[1:])) for values in found.values())
    r_hat = max(float(np.max(split_gelman_rubin(values))) for values in chains)
    if r_hat > limits.R_HAT or diverged > MOST_DIVERGENT * len(found["average"]):
        warn(
            f"the hierarchical model of the sets is unreliable: R-hat is {r_hat:.3f}, above {limits.R_HAT}, or too "
            f"many transitions diverged, {diverged}; take more draws, or the signed rank, which needs no sampler"
        )
    return "hierarchical model" + (f", {diverged} divergences" if diverged else "")


def wilcoxon(scores: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of each pair of methods, with Holm's correction for their number.

    Wilcoxon, Individual comparisons by ranking methods (1945); Holm, A simple sequentially rejective multiple test
    procedure (1979). Sets in which two methods are equal are left out; if all are, p is 1.

    Args:
        scores: A row for each set, a column for each method; sets with a missing score are left out.

    Returns:
        ``method``, ``other``, ``sets`` (that differ), ``p`` and ``p_holm``, a row for each pair.
    """
    scores = _complete(scores, least=2)
    pairs = list(combinations(scores.columns, 2))
    apart = [(scores[a] - scores[b]).to_numpy() for a, b in pairs]
    p = np.array([stats.wilcoxon(d).pvalue if d.any() else 1.0 for d in apart])
    first, second = zip(*pairs, strict=True)
    counts = [np.count_nonzero(d) for d in apart]
    return pd.DataFrame({"method": first, "other": second, "sets": counts, "p": p, "p_holm": holm(p)})


def holm(p: Array) -> Array:
    """The p values times the number of hypotheses that are left at each, in increasing order, none below another."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(raised, 1.0)[np.argsort(order, kind="stable")]


class Friedman(NamedTuple):
    """Friedman's test that all methods rank alike, and their mean ranks over the sets."""

    statistic: float
    p: float
    ranks: pd.Series[float]


def friedman(scores: pd.DataFrame, *, higher_is_better: bool = False) -> Friedman:
    """Friedman's test of three methods or more, with mean ranks, 1 the best; equal scores share the mean of theirs.

    Mean ranks depend on which other methods are there: Benavoli, Corani, Mangili, Should we really use post-hoc tests
    based on mean-ranks? (2016). Compare pairs where you can.

    Args:
        scores: As for ``wilcoxon``.
        higher_is_better: Whether the best has the highest score.
    """
    scores = _complete(scores, least=3)
    ranks = scores.rank(axis=1, ascending=not higher_is_better)
    statistic, p = stats.friedmanchisquare(*ranks.to_numpy().T)
    return Friedman(float(statistic), float(p), ranks.mean())


def _complete(scores: pd.DataFrame, least: int) -> pd.DataFrame:
    complete = scores.dropna()
    if len(complete) < 2 or scores.shape[1] < least:
        raise ValueError(
            f"scores must have two sets or more that are complete, and {least} methods or more, got {len(complete)} of "
            f"{len(scores)} sets and {scores.shape[1]} methods"
        )
    return complete
