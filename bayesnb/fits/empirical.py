"""Empirical Bayes: the hyperparameters of the prior that maximise the evidence.

Under conjugacy the evidence log p(X, y) has a closed form: the log partition of the posterior minus that of the prior.
It is a sum over blocks, and over features if each has its own hyperparameters. A block is then F problems with P = 1 to
3 unknowns each, solved together (``newton``). The labels are one more block: a column of K categories.
"""

from __future__ import annotations

import dataclasses
import warnings
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import Array, to_double
from bayesnb.arrays.pytree import fields_of, pytree
from bayesnb.families import Family
from bayesnb.families.parts.statistics import CategoricalStatistics
from bayesnb.families.parts.support import require_choice, require_positive
from bayesnb.families.words import FAMILIES
from bayesnb.fits.closed_form import fit_posterior
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.numerics import newton
from bayesnb.results.classifier import Posterior
from bayesnb.rows import arguments
from bayesnb.rows.statistics import ModelStatistics

GIVEN = ("loc", "smoothing")
"""Hyperparameters that are not learned: a loc may be negative, and smoothing is that of the MLE."""

PER = {"rate": "shape", "scale": "df"}
"""Hyperparameters in the unit of a column, learned as a ratio to another one: rate / shape is a variance."""

FEWEST, MOST = 1e-3, 1e6
"""Bounds of hyperparameters that count pseudo-rows."""

STRETCH = 1e3
"""The largest factor, up or down, on the ratios of ``PER``."""

LABEL = "label"
"""The name of the labels' block; no other block may have it."""


@pytree
class EmpiricalPosterior(Posterior):
    """The exact posterior under a learned prior: ``prior`` has the hyperparameters that maximise the evidence.

    ``log_evidence`` is never below ``start_log_evidence``, the evidence under the given prior. ``at_bound``, by block
    and hyperparameter, is -1 if the maximum is at the lower bound, 1 at the upper, 0 at neither: an array [1], or [D]
    if each feature has its own. The class concentration is the ``concentration`` of the block ``label``.
    """

    start_log_evidence: Array = dataclasses.field(kw_only=True)
    converged: Array = dataclasses.field(kw_only=True)
    num_iterations: Array = dataclasses.field(kw_only=True)
    at_bound: dict[str, dict[str, Array]] = dataclasses.field(kw_only=True)


def fit_empirical(
    model: NaiveBayes,
    X: Any = None,
    y: Any = None,
    *,
    by: str = "block",
    learn_class: bool = True,
    sample_weight: Any = None,
    statistics: ModelStatistics | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-9,
) -> EmpiricalPosterior:
    """The posterior under the prior that maximises the evidence log p(X, y); the search starts at the model's own.

    Every positive hyperparameter is multiplied by a factor, one per block or one per feature, the same for all classes;
    ratios between classes, categories and columns stay the same. A loc is not changed. For hyperparameters in the unit
    of a column the factor applies to rate / shape and scale / df, and rate and scale follow; for df it applies to
    df - (D - 1). Multinomial and MultivariateNormal, which are one feature, have one factor either way. MacKay,
    Bayesian interpolation (1992); Minka, Estimating a Dirichlet distribution (2000).

    Some maxima are at infinity or zero: for features that do not depend on the class, balanced classes, or columns that
    are constant within a class. Pseudo-rows are kept in [1e-3, 1e6], rate / shape and scale / df within a factor of
    1000 of the given or resolved ones; hyperparameters at such a bound are reported in a warning and in ``at_bound``.

    The evidence measures the density of the data, not of the class given the features: if features depend on each
    other, a prior that describes them better may make classification more overconfident. Compare on held-out rows.
    The search runs on the host in float64, and its cost does not grow with the rows.

    Args:
        model: The specification; its hyperparameters are the start.
        X: An array [N, D], or a dict of arrays by block; NaN is missing.
        y: Integers 0..K-1 [N], or soft labels [N, K].
        by: "block" for one factor per hyperparameter and block, or "feature" for one per hyperparameter and feature.
        learn_class: Learn the class concentration too, unless class_probs are fixed.
        sample_weight: Weights [N].
        statistics: Sufficient statistics instead of rows.
        max_iterations: The maximum number of Newton steps.
        tolerance: A problem is solved when the gain in nats that the next step predicts is below this.

    Warns:
        UserWarning: if a hyperparameter is at a bound, or the maximum number of steps was reached.

    Raises:
        ValueError: if the data do not fit the model, there is no row with a positive weight, for invalid options,
            and inside a JAX transformation.
    """
    require_choice("fit_empirical", "by", by, ("block", "feature"))
    require_positive("fit_empirical", tolerance=tolerance)
    arguments.check_counts(max_iterations=max_iterations)
    start = fit_posterior(model, X, y, sample_weight=sample_weight, statistics=statistics)
    arguments.require_known("fit_empirical", start)
    start = fit_posterior(to_double(start.prior), statistics=to_double(start.statistics))
    if not start.statistics.class_counts.sum() > 0:
        raise ValueError("without rows every prior has the same evidence: give at least one row with a positive weight")
    families, minima, at_bound = {}, [], {}
    for name, (family, block) in _blocks(start, learn_class).items():
        # a block without columns is solved at its start, since every prior has the same evidence
        own = by if name != LABEL and family.num_columns else "block"
        families[name], minimum = at_once(_learn, family, block, tolerance, max_iterations, by=own)
        at_bound[name] = dict(zip(_unknowns(family), minimum.at_bound, strict=True))
        minima.append(minimum)
    label = families.pop(LABEL).concentration[0] if LABEL in families else start.prior.class_concentration
    fit = fit_posterior(start.prior.with_hyperparameters(families, label), statistics=start.statistics)
    if not fit.log_evidence >= start.log_evidence:  # if the start is the maximum, it may be better by rounding
        fit = start
    learned = EmpiricalPosterior(
        fit.prior,
        fit.model,
        fit.statistics,
        start_log_evidence=start.log_evidence,
        converged=np.all([minimum.converged for minimum in minima]),
        num_iterations=np.max([minimum.num_iterations for minimum in minima]),
        at_bound=at_bound,
    )
    _warn(learned)
    return learned


def _blocks(start: Posterior, learn_class: bool) -> dict[str, tuple[Family, Any]]:
    """The blocks with their statistics; the labels are a column of a single class."""
    blocks = {name: (family, start.statistics.blocks[name]) for name, family in start.prior.families.items()}
    if learn_class and start.prior.class_probs is None:
        counts = start.statistics.class_counts
        label = FAMILIES["categorical"](counts.shape, start.prior.class_concentration[None])
        blocks[LABEL] = label, CategoricalStatistics(counts[None], counts.shape)
    return blocks


def _unknowns(family: Family) -> list[str]:
    return [f.name for f in fields_of(family) if not f.metadata.get("static") and f.name not in GIVEN]


@partial(jax.jit, static_argnames="by")
def _learn(
    family: Family, statistics: Any, tolerance: Array, max_iterations: Array, *, by: str
) -> tuple[Family, newton.Minimum]:
    """The block's learned family, and the minimum of minus its log evidence over the log factors [P, F]."""
    names = _unknowns(family)
    owner = _owner(family, by)
    num_problems = int(owner.max()) + 1
    bounds = [_bounds(family, name, owner, num_problems) for name in names]
    lower, upper = (jnp.stack(side) for side in zip(*bounds, strict=True))

    def prior(logs: Array) -> Family:
        return _scale(family, dict(zip(names, logs, strict=True)), owner)

    def loss(logs: Array) -> Array:
        evidence = prior(logs).log_partition_ratio(statistics)
        return -evidence.sum(axis=0).reshape(num_problems, -1).sum(axis=1)

    minimum = newton.minimise(loss, lower, upper, tolerance, max_iterations)
    return prior(minimum.x), minimum


def _owner(family: Family, by: str) -> np.ndarray[Any, Any]:
    """The index of the problem of each entry of a hyperparameter: [], [1, D], or [1, S] for categories."""
    num_features = family.log_partition().shape[1]
    if by == "block" or num_features == 1:
        return np.zeros((), int)
    return np.repeat(np.arange(num_features), family.term_sizes(num_features))[None]


def _edge(family: Family, name: str) -> int:
    """The lower end of a hyperparameter's range: D - 1 for degrees of freedom, else 0."""
    return family.num_columns - 1 if name == "df" else 0


def _scale(family: Family, logs: dict[str, Array], owner: Array) -> Family:
    """The family with a factor on each hyperparameter's distance from its edge, and on the ratios of ``PER``."""
    new = {}
    for name, log in logs.items():
        edge = _edge(family, name)
        new[name] = edge + (getattr(family, name) - edge) * jnp.exp(log)[owner]
    for name, rows in PER.items():
        if name in new:
            ratio = new[rows] / getattr(family, rows)
            new[name] = new[name] * jnp.expand_dims(ratio, range(ratio.ndim, new[name].ndim))
    return family._replace(**new)


def _bounds(family: Family, name: str, owner: Array, num_problems: int) -> tuple[Array, Array]:
    """The smallest and the largest log factors [F] of a hyperparameter; 0, the start, is always inside."""
    if name in PER:
        most = jnp.full(num_problems, jnp.log(STRETCH))
        return -most, most
    value = getattr(family, name) - _edge(family, name)
    owners = jnp.broadcast_to(owner, value.shape)
    smallest = jnp.full(num_problems, jnp.inf).at[owners].min(value)
    largest = jnp.zeros(num_problems).at[owners].max(value)
    return jnp.minimum(jnp.log(FEWEST / smallest), 0.0), jnp.maximum(jnp.log(MOST / largest), 0.0)


def _warn(fit: EmpiricalPosterior) -> None:
    problems = []
    at_bound = [
        _sentence(block, name, side, which)
        for block, hyperparameters in fit.at_bound.items()
        for name, side in hyperparameters.items()
        for which in (-1, 1)
        if (side == which).any()
    ]
    if at_bound:
        problems.append(f"the evidence rises beyond the bounds, where the learned prior stops: {'; '.join(at_bound)}")
    if not fit.converged:
        problems.append(f"the evidence was still rising after {fit.num_iterations} steps: take more max_iterations")
    for problem in problems:
        warnings.warn(problem, UserWarning, stacklevel=3)


def _sentence(block: str, name: str, side: Array, which: int) -> str:
    end, bound, factor = ("lower", FEWEST, 1 / STRETCH) if which < 0 else ("upper", MOST, STRETCH)
    what, at = (f"{name} / {PER[name]}", f"{factor:g} times the one given") if name in PER else (name, f"{bound:g}")
    whose = "the class concentration" if block == LABEL else f"{what} of block {block!r}"
    share = f" in {int((side == which).sum())} of {side.size} features" if side.size > 1 else ""
    return f"{whose} is at its {end} bound, {at}{share}"
