"""Which priors a fit depends on, parameter by parameter, and which prior carries a prediction; its derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from functools import partial, singledispatch
from itertools import product
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._compute import compute, compute_in_threads, compute_rows, interpret
from bayesnb.compute.arrays._extras import needed_by
from bayesnb.compute.arrays._placement import Node, promote_dtypes, pytree
from bayesnb.compute.arrays._typing import Array, Rows
from bayesnb.core.families import Hurdle
from bayesnb.core.fits._empirical import EmpiricalPosterior
from bayesnb.core.results import _display_names as names
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import raise_class_probs
from bayesnb.core.results._unwrap import unwrap_pipeline
from bayesnb.core.rows import _arguments as arguments
from bayesnb.inspection.sensitivity._dominance import take_posterior
from bayesnb.inspection.sensitivity._power_scaling import (
    Marginals,
    beta,
    distances,
    marginals,
    scale_count,
    scale_prior,
)

if TYPE_CHECKING:
    import pandas as pd

THRESHOLD = 0.05
"""From which ArviZ and priorsense call a parameter sensitive."""

COLUMNS = ("site", "class", "entry", "prior", "likelihood", "diagnosis")

FEW = 1 << 14
"""Hyperparameters below which numpy is done before XLA has compiled."""


@pytree
class PriorSensitivity(Node):
    """How far each parameter moves if a power of its site's ``prior``, or of the ``likelihood``, is taken.

    By site, [K] or [K, D], with categories end to end, [K, S]. ``frame()`` is the table, which ``print`` shows.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Bernoulli(a=20.0, b=2.0), class_probs=[0.5, 0.5])  # expects ones
        >>> post = nb.fit_posterior(model, [[1]] * 3 + [[0]] * 7 + [[1]] * 9, [0] * 10 + [1] * 9)
        >>> print(nb.prior_sensitivity(post))
           site class entry prior likelihood           diagnosis
        x_probs     0  x[0] 0.353      0.272 prior-data conflict
        x_probs     1  x[0] 0.119      0.130 prior-data conflict
    """

    prior: dict[str, Array]
    likelihood: dict[str, Array]
    classes: tuple[str, ...] = field(metadata={"static": True})
    entries: tuple[tuple[str, tuple[str, ...]], ...] = field(metadata={"static": True})

    def rows(self) -> Iterator[tuple[str, str, str, float, float, str]]:
        """For each parameter its site, class, entry, both numbers and what ArviZ says of them."""
        for site, entries in self.entries:
            prior, likelihood = (np.asarray(table[site]) for table in (self.prior, self.likelihood))
            for (k, *place), one in np.ndenumerate(prior):
                other = likelihood[(k, *place)]
                # a parameter that all classes share has one row
                of = self.classes[k] if len(prior) == len(self.classes) else ""
                said = "" if one < THRESHOLD else "strong prior" if other < THRESHOLD else "prior-data conflict"
                yield site, of, entries[place[0]] if place else "", float(one), float(other), said

    def frame(self) -> pd.DataFrame:
        """The ``rows`` as a frame; it needs pandas."""
        with needed_by("PriorSensitivity.frame"):
            import pandas as pd
        return pd.DataFrame(self.rows(), columns=list(COLUMNS))

    def __str__(self) -> str:
        lines = [COLUMNS, *((*words, f"{one:.3f}", f"{other:.3f}", said) for *words, one, other, said in self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(" ".join(map(str.rjust, line, widths)) for line in lines)


def prior_sensitivity(
    post: Posterior, X: Rows | None = None, *, num_draws: int = 4000
) -> PriorSensitivity | dict[str, Array]:
    """Does the prior matter? Exact power-scaling of each site's prior, and of the likelihood; no draws are made.

    The numbers are those of ArviZ's ``psense`` and of priorsense, without Monte Carlo error: how far a parameter's
    posterior moves when its prior, or the likelihood, counts twice as much, by its cumulative Jensen-Shannon distance.
    From .05 the prior matters: beside a weak likelihood it is a strong prior, else the two are in conflict. A uniform
    prior has 0. The numbers depend on the parameter: of a Normal they are those of the variance, of a covariance those
    of its diagonal. Kallioinen et al., Detecting and diagnosing prior and likelihood sensitivity with power-scaling
    (2024).

    Args:
        post: An exact posterior, or an estimator or pipeline with one, of Bernoulli, Binomial, Categorical,
            Multinomial, MultivariateNormal, Normal, NormalKnownVariance, OneRate and Poisson blocks.
        X: Rows: instead, which prior carries their predictions: d log p(k | x) / d log2 alpha, where alpha is the power
            of the prior of a column, or of a whole MultivariateNormal, [N, K, F] by block, and of the class
            probabilities, ``class_probs`` [N, K].
        num_draws: S. ArviZ's numbers fall with the number of draws, as their range widens: these are those of so many.

    Raises:
        ValueError: for other families and fits; for learned priors and hyperpriors, as the prior is then learned from
            the rows; and for a prior that is given with class probabilities of another population.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=2.0, b=2.0)), [[1]] * 3 + [[0]] * 7, [0] * 10)
        >>> found = nb.prior_sensitivity(post)
        >>> found.prior["x_probs"].round(4), found.likelihood["x_probs"].round(4)
        (array([[0.0315]]), array([[0.112]]))
    """
    arguments.check_counts(num_draws=num_draws)
    *_, known = unwrap_pipeline(post)
    fit, X = take_posterior(post, X, "prior_sensitivity")
    require_given_prior(fit, "prior_sensitivity")
    if X is not None:
        return compute_rows(_carried, (fit,), fit.arrays(X))
    run = interpret if sum(map(np.size, jax.tree.leaves(fit.model))) < FEW else compute
    prior, likelihood = run(_sensitivities, fit, num_draws=num_draws)
    classes = names.check_class_names(known.get("class_names"), fit.model.num_classes or 0)
    return PriorSensitivity(prior, likelihood, classes, _entries(fit, known.get("feature_names")))


def require_given_prior(fit: Any, what: str) -> None:
    """ValueError for a prior that was itself learned from the rows."""
    if isinstance(fit, EmpiricalPosterior):
        raise ValueError(
            f"{what} asks how the prior that you gave matters, and that of an EmpiricalPosterior was learned from the "
            "rows: fit_posterior of a model with numbers as hyperparameters"
        )


def _entries(fit: Posterior, feature_names: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The names of each site's columns, or of their categories."""
    columns = names.check_column_names(feature_names, {b: size or 0 for b, size in fit.model.columns.items()})
    found: dict[str, tuple[str, ...]] = {"class_probs": ()} if "class_probs" in _marginals(fit.model) else {}
    for block, family in fit.model.families.items():
        values = _values(family, len(columns[block]))
        codes = tuple(f"{c}={one}" for c, of_column in zip(columns[block], values, strict=True) for one in of_column)
        for site, (_, params) in marginals(family).items():
            found[f"{block}_{site}"] = columns[block] if params[0].shape[-1] == len(columns[block]) else codes
    return tuple(found.items())


@singledispatch
def _values(family: Any, num_columns: int) -> Iterable[Iterable[Any]]:
    """The values of each column whose cells are categories."""
    return map(range, family.category_sizes(num_columns))


_values.register(Hurdle, lambda family, num_columns: [family.value_names] * num_columns)


def _marginals(model: Any) -> Marginals:
    """Of the class probabilities, if they are learned, and of all blocks, by site."""
    count, found = model.class_concentration, {}
    if model.class_probs is None and len(count) > 1:
        found["class_probs"] = (beta, (count, count.sum() - count))
    return found | {f"{b}_{site}": one for b, f in model.families.items() for site, one in marginals(f).items()}


def _scaled(model: Any, alpha: Array) -> Any:
    """The prior to the power alpha."""
    families = {b: scale_prior(family, alpha) for b, family in model.families.items()}
    return model.with_hyperparameters(families, scale_count(model.class_concentration, alpha))


@partial(jax.jit, static_argnames="num_draws")
def _sensitivities(fit: Posterior, num_draws: int) -> tuple[dict[str, Array], dict[str, Array]]:
    sites = _marginals(fit.model)

    def hyperparameters(power: Array, of_rows: Any) -> dict[str, tuple[Array, ...]]:
        posterior = _scaled(fit.prior, power).update(fit.statistics.discount(of_rows))
        own = posterior._replace(class_probs=fit.model.class_probs)
        return {site: params for site, (_, params) in _marginals(own).items()}

    one = jnp.ones(())
    ways = [jax.jvp(hyperparameters, (one, one), change) for change in ((one, 0.0 * one), (0.0 * one, one))]
    found: tuple[dict[str, Array], dict[str, Array]] = {}, {}
    for kind in {kind: None for kind, _ in sites.values()}:  # one loop for all parameters of a kind
        own = [site for site, (other, _) in sites.items() if other is kind]
        params, moved = (
            jnp.concatenate([_flatten(way[site]) for way in both for site in own]) for both in zip(*ways, strict=True)
        )
        shapes = 2 * [sites[site][1][0].shape for site in own]
        parts = jnp.split(distances(kind, params, moved, num_draws), np.cumsum([*map(math.prod, shapes)])[:-1])
        for (answer, site), part, shape in zip(product(found, own), parts, shapes, strict=True):
            answer[site] = part.reshape(shape)
    return found


def _flatten(tables: tuple[Array, ...]) -> Array:
    """The hyperparameters of each entry, [P, 2 or 3]."""
    return jnp.stack([table.reshape(-1) for table in tables], axis=-1)


@jax.jit
def _carried(fit: Posterior, arrays: dict[str, Array]) -> dict[str, Array]:
    """d log p(k | x) by log2 of the power of each column's prior, [N, K, F], and of the class probabilities."""
    powers = fit.all_powers

    def terms(alpha: Array) -> dict[str, Array]:
        model = _scaled(fit.prior, alpha).update(fit.statistics)
        found = {b: f.log_predictive_terms(arrays[b]) for b, f in model.families.items()}
        if powers is not None:
            found = {b: powers.raise_terms(b, model.families[b], part, arrays[b]) for b, part in found.items()}
        if fit.model.class_probs is None:
            probs = jnp.log(raise_class_probs(model, powers, model.class_mean()))
            found["class_probs"] = jnp.broadcast_to(probs[None, :, None], (*fit.scores(arrays).finite.shape, 1))
        return found

    _, moved = jax.jvp(terms, (jnp.ones(()),), (jnp.log(2.0),))
    shares = fit.scores(arrays).shares()[:, :, None]
    carried = {site: part - (shares * part).sum(axis=1, keepdims=True) for site, part in moved.items()}
    return {site: part[:, :, 0] if site == "class_probs" else part for site, part in carried.items()}


@promote_dtypes
def prior_gradient(post: Posterior, X: Rows) -> dict[str, dict[str, Array]]:
    """d log p(k | x) / d eta for every hyperparameter eta of the prior: by block and name, [N, K, ...].

    The last axes are those of the hyperparameter in a resolved prior, such as [K, D]; that of the class probabilities
    is ``["class_probs"]["concentration"]``. The rows stay, and with them a prior that is resolved from them.

    Args:
        post: An exact posterior, or an estimator or pipeline with one. Of a default fit, its part without dependence.
            Bins, and so the ``Histogram`` and ``Views``, have no hyperparameters that are numbers to change.
        X: Rows, as the fit takes them.

    Raises:
        ValueError: for fits that are not exact posteriors, and for priors that were learned.

    Example:
        >>> import bayesnb as nb
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1])
        >>> found = nb.prior_gradient(post, [[1]])
        >>> found["x"]["a"][0, 0, :, 0].round(3)  # a pseudo-one more in class 0, and in class 1, for log p(0 | x)
        array([ 0.029, -0.145])
    """
    fit, X = take_posterior(post, X, "prior_gradient")
    require_given_prior(fit, "prior_gradient")
    fit = getattr(fit, "alone", fit)
    arrays = fit.arrays(X)
    numbers = (fit.model.num_classes or 0) * sum(x.shape[1] for x in arrays.values())
    return compute_in_threads(_gradients, (fit,), arrays, numbers, compiles=False)


@jax.jit
def _gradients(fit: Posterior, arrays: dict[str, Array]) -> dict[str, dict[str, Array]]:
    families = fit.prior.families
    given = {b: {name: getattr(f, name) for name in (*f.positive, *f.squared)} for b, f in families.items()}
    if fit.model.class_probs is None:
        given["class_probs"] = {"concentration": fit.prior.class_concentration}

    def log_proba(row: dict[str, Array], given: dict[str, dict[str, Array]]) -> Array:
        own = {b: family._replace(**given[b]) for b, family in families.items()}
        count = given.get("class_probs", {}).get("concentration", fit.prior.class_concentration)
        prior = fit.prior.with_hyperparameters(own, count)
        model = prior.update(fit.statistics)._replace(class_probs=fit.model.class_probs)
        one = replace(fit, prior=prior, model=model)
        return one.scores({b: x[None] for b, x in row.items()}).normalise()[0]

    return jax.vmap(jax.jacrev(log_proba, argnums=1), (0, None))(arrays, given)
