"""Convergence diagnostics of NUTS draws: R-hat, effective sample sizes and divergences.

Rank-normalised R-hat and the effective sample sizes of the bulk and the tails, as ArviZ computes them: Vehtari et al.,
Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of MCMC (2021).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._typing import FeatureNames
from bayesnb.core.fits._nuts import NOT_EXACT, HierarchicalDraws
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._draws import Draws
from bayesnb.inspection._arviz import coordinates, library


class Worst(NamedTuple):
    """The worst value of a diagnostic, and its parameter; None if no parameter varies."""

    value: float
    parameter: str | None


class Diagnosis(NamedTuple):
    """The largest R-hat, the smallest effective sample sizes, the number of divergent transitions, and advice.

    Example:
        >>> import jax, numpy as np, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> params, diverging = post.sample(jax.random.key(0), 2000), np.zeros(2000, bool)
        >>> draws = nb.Draws(post.prior, params, {"diverging": diverging}, num_chains=4)
        >>> found = nb.diagnose(draws)  # doctest: +ELLIPSIS
        4 chains of 500 draws; parameters that vary: 4
        ...
        No problem was found.
        >>> found.ok, round(found.r_hat.value, 1), found.num_divergences
        (True, 1.0, 0)
    """

    r_hat: Worst
    bulk_ess: Worst
    tail_ess: Worst
    num_divergences: int
    advice: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """True if no diagnostic failed."""
        return not self.advice


def diagnose(
    draws: Draws,
    *,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
) -> Diagnosis:
    """Print the worst convergence diagnostics of draws and advice, and return the numbers.

    Parameters that do not vary, such as fixed class probabilities, are left out. If one varies but its R-hat or
    effective sample size is undefined, as when chains are stuck, it counts as the worst possible value.

    Args:
        draws: A result of ``fit_nuts``.
        class_names, feature_names: Names of classes and columns, as in ``to_arviz``.

    Raises:
        ValueError: for a fit that has no chains, and for names that do not fit the model.

    Example:
        >>> import jax, numpy as np, bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> params, diverging = post.sample(jax.random.key(0), 2000), np.zeros(2000, bool)
        >>> draws = nb.Draws(post.prior, params, {"diverging": diverging}, num_chains=4)
        >>> nb.diagnose(draws).advice  # doctest: +ELLIPSIS
        4 chains of 500 draws; parameters that vary: 4
        ...
        No problem was found.
        ()
    """
    if isinstance(draws, Posterior):
        raise ValueError("an exact posterior needs no diagnosis: its draws are independent")
    if not isinstance(draws, Draws):
        raise ValueError(f"diagnose takes draws from fit_nuts, got {type(draws).__name__}, which has no chains")
    coords, dims = coordinates(draws.model, class_names, feature_names)
    names = [name for site, value in draws.params.items() for name in _names(site, value.shape[1:], coords, dims)]
    chains, varying = draws.chains_that_vary()
    worst = _worst(chains, list(compress(names, varying)))
    diagnosis = Diagnosis(*worst, draws.num_divergences, tuple(_advice(*worst, draws)))
    _print(diagnosis, chains.shape)
    return diagnosis


def _names(site: str, shape: tuple[int, ...], coords: dict[str, Any], dims: dict[str, Any]) -> Iterator[str]:
    """The names of a site's parameters, such as ``x_probs[spam, free]``; a scalar has the name of its site."""
    labels = [coords[dim] for dim in dims[site]] if site in dims else [range(size) for size in shape]
    for index in np.ndindex(*shape):
        where = ", ".join(str(label[i]) for label, i in zip(labels, index, strict=True))
        yield f"{site}[{where}]" if shape else site


def _worst(chains: np.ndarray[Any, Any], names: list[str]) -> tuple[Worst, Worst, Worst]:
    """The worst R-hat and effective sample sizes of the bulk and the tails, from chains [chain, draw, P]."""
    num_chains, num_draws, _ = chains.shape
    if not names:
        every = Worst(float(num_chains * num_draws), None)
        return Worst(1.0, None), every, every
    arviz = library("diagnose")

    def worst(function: Any, chains: Any, undefined: float, **options: Any) -> Worst:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = function(arviz.convert_to_dataset({"all": chains}), **options)["all"].values
        values = np.where(np.isnan(values), undefined, values)
        place = values.argmax() if undefined else values.argmin()
        return Worst(float(values[place]), names[int(place)])

    # for one chain, R-hat compares its two halves
    halves = chains[:, num_draws % 2 :].reshape(2, -1, len(names)) if num_chains == 1 else chains
    bulk, tail = (worst(arviz.ess, chains, 0.0, method=method) for method in ("bulk", "tail"))
    return worst(arviz.rhat, halves, np.inf), bulk, tail


def _advice(r_hat: Worst, bulk: Worst, tail: Worst, draws: Draws) -> Iterator[str]:
    if draws.num_chains == 1:
        yield "A single chain cannot show that chains disagree: use num_chains=4."
    if r_hat.value > limits.R_HAT:
        yield f"R-hat is above {limits.R_HAT}: the chains do not agree yet, increase num_warmup."
    if bulk.value < limits.ESS:
        yield f"The bulk ESS is below {limits.ESS}: means are imprecise, increase num_samples."
    if tail.value < limits.ESS:
        yield f"The tail ESS is below {limits.ESS}: intervals are imprecise, increase num_samples."
    if draws.num_divergences:
        exact = not (draws.model.priors or isinstance(draws, HierarchicalDraws))
        remedy = "if all rows are labelled, use fit_posterior, which is exact" if exact else NOT_EXACT
        yield f"Transitions diverged, and parts of the posterior may be missed: {remedy}."


def _print(diagnosis: Diagnosis, shape: tuple[int, ...]) -> None:
    (num_chains, num_draws, varying), (r_hat, bulk, tail, num_divergences, advice) = shape, diagnosis
    print(f"{num_chains} chain{'s' * (num_chains > 1)} of {num_draws:,} draws; parameters that vary: {varying:,}")
    rows = [
        ("R-hat", f"{r_hat.value:.4g}", f"at most {limits.R_HAT}", r_hat.parameter),
        ("bulk ESS", f"{bulk.value:,.0f}", f"at least {limits.ESS}", bulk.parameter),
        ("tail ESS", f"{tail.value:,.0f}", f"at least {limits.ESS}", tail.parameter),
        ("divergences", f"{num_divergences:,}", "none", None),
    ]
    for name, worst, wanted, parameter in rows:
        print(f"  {name:11}  {worst:>9}  ({wanted})  {parameter or ''}".rstrip())
    print(*(advice or ("No problem was found.",)), sep="\n")
