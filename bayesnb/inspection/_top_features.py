"""Rank features by what they add on average to the log odds of a class, over rows of that class.

    sum_{j != k} p(j) / (1 - p(k)) E[log p(x_f | k) - log p(x_f | j) | y = k]

This is the mean contribution in ``explain``. The expectations are Kullback-Leibler divergences, in closed form.
Kullback and Leibler, On information and sufficiency (1951). Each word and each category is ranked separately; its value
may be negative if it is less frequent in this class than in others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import rel_entr
from jax.scipy.stats import norm

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import Array, allow_promotion, to_double
from bayesnb.compute.arrays._typing import Estimator, FeatureNames
from bayesnb.compute.numerics import _covariances as covariances
from bayesnb.core.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Histogram,
    Hurdle,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Poisson,
    Transformed,
    Views,
)
from bayesnb.core.families._base import Family, Params
from bayesnb.core.families._views import generative
from bayesnb.core.families.parts._bins import centres_of
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results import _display_names as names
from bayesnb.core.results._classifier import Classifier, PointEstimate, Posterior, class_probs
from bayesnb.core.results._combine import has_word_terms, raise_terms
from bayesnb.core.results._unwrap import unwrap_pipeline
from bayesnb.core.rows import _arguments as arguments


class TopFeature(NamedTuple):
    """A feature's ``name``, the ``nats`` it adds on average, and its mean ``here``, in the class, and ``elsewhere``.

    For a word or a category the mean is its probability; for a block of many columns it is NaN.

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(1.0)), [[3, 0, 1], [0, 2, 1]], [0, 1])
        >>> top = nb.top_features(fit, 1, class_names=["junk", "ok"], feature_names=["free", "lunch", "now"])
        >>> name, nats, here, elsewhere = top["junk"][0]
        >>> name, round(nats, 2), round(here, 2), round(elsewhere, 2)
        ('free', 0.7, 0.57, 0.17)
    """

    name: str
    nats: float
    here: float
    elsewhere: float


class TopFeatures(dict[str, list[TopFeature]]):
    """Features by class name, the strongest first.

    Example:
        >>> import bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(1.0)), [[3, 0, 1], [0, 2, 1]], [0, 1])
        >>> top = nb.top_features(fit, 1, class_names=["junk", "ok"], feature_names=["free", "lunch", "now"])
        >>> {name: features[0].name for name, features in top.items()}
        {'junk': 'free', 'ok': 'lunch'}
    """

    def __repr__(self) -> str:
        """The features of all classes as a table."""
        width = max((len(part.name) for found in self.values() for part in found), default=0)
        lines = []
        for name, found in self.items():
            lines.append(f"{name:{width + 2}}  {'nats':>9}  {'mean here':>11}  {'elsewhere':>11}")
            lines += [f"  {f.name:{width}}  {f.nats:9.4g}  {f.here:11.4g}  {f.elsewhere:11.4g}" for f in found]
        return "\n".join(lines)


def top_features(
    fit: Classifier | Estimator,
    count: int = 10,
    *,
    class_names: Iterable[object] | None = None,
    feature_names: FeatureNames | None = None,
    value_names: Mapping[str, Sequence[object]] | None = None,
) -> TopFeatures:
    """The features, words or categories with the largest mean contribution to the log odds of each class.

    For an exact posterior the parameters are taken at their means (a variance at rate / shape). The unit is nats; for a
    word it is nats per word of a row, for a Binomial whose totals are given with the rows nats per trial. Powers count;
    those of words that depend on a row's length are taken at the mean length of the fitted rows.

    Args:
        fit: A ``PointEstimate`` or ``Posterior``; or a fitted ``NaiveBayesClassifier``, or a scikit-learn ``Pipeline``
            that ends with one.
        count: The maximum number of features for each class.
        class_names, feature_names, value_names: As in ``explain``.

    Raises:
        ValueError: for another fit, for a single class, names that do not fit, and inside a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> from sklearn.feature_extraction.text import CountVectorizer
        >>> from sklearn.pipeline import make_pipeline
        >>> pipeline = make_pipeline(CountVectorizer(), nb.NaiveBayesClassifier("multinomial"))
        >>> texts = ["free offer", "free prize", "at lunch", "lunch offer"]
        >>> pipeline = pipeline.fit(texts, ["junk", "junk", "ok", "ok"])
        >>> [found[0].name for found in nb.top_features(pipeline).values()]
        ['free', 'lunch']
    """
    found, _, known = unwrap_pipeline(fit)
    own_classes, own_features, own_values = names.complete_names(known, class_names, feature_names, value_names)
    if not isinstance(found, PointEstimate | Posterior):
        raise ValueError(
            f"top_features takes a PointEstimate or a Posterior, got {type(found).__name__}; for an AveragedPosterior, "
            "give its attribute posterior"
        )
    arguments.check_counts(count=count)
    arguments.require_known("top_features", found)
    found = to_double(found)
    params = found.params if isinstance(found, PointEstimate) else compute(_reference, found.model)
    probs = class_probs(found)
    classes = names.check_class_names(own_classes, probs.size)
    if len(classes) < 2:
        raise ValueError("the model has a single class: top_features compares two or more")
    columns = names.check_column_names(own_features, {b: int(size or 0) for b, size in found.columns().items()})
    shown = names.prefix_repeated(columns)
    values = names.check_value_names(own_values, found.model.families, columns, shown)
    powers = _powers_at_mean_length(found) if isinstance(found, Posterior) else {}
    own = found.model.block_params(params)
    blocks = [(b, family) for b, family in found.model.families.items() if columns[b]]
    if not blocks:
        raise ValueError("the model has no columns: top_features needs one or more")
    tables = {b: compute(_means, family, own[b]) for b, family in blocks}
    labels = [one for b, family in blocks for one in _labels(family, b, shown[b], values, tables[b].shape[1])]
    here = np.concatenate([*tables.values()], axis=1)
    result = TopFeatures()
    for k, name in enumerate(classes):
        others = np.where(np.arange(probs.size) == k, 0.0, probs if np.delete(probs, k).any() else 1.0)
        others, possible = others / others.sum(), others > 0
        parts = [compute(_divergence, family, own[b], k, powers.get(b, np.ones(1))) for b, family in blocks]
        nats = np.concatenate([others[possible] @ part[possible] for part in parts])
        table = np.stack([nats, here[k], others @ here], axis=1)
        order = np.argsort(-nats, kind="stable")[:count]
        result[name] = [TopFeature(labels[f], *table[f].tolist()) for f in order]
    return result


def _powers_at_mean_length(fit: Posterior) -> Mapping[str, Array]:
    """The powers by block of a row with as many words as the fitted rows have on average; none if all are 1."""
    if fit.all_powers is None:
        return {}
    num_rows = np.maximum(fit.statistics.class_counts.sum(), 1.0)
    words = {b: fit.statistics.blocks[b].counts.sum(axis=1).sum() / num_rows for b in fit.length_exponents or ()}
    return fit.all_powers.at(words)


def _labels(
    family: Family, block: str, columns: Sequence[str], value_names: Mapping[str, Any], num_terms: int
) -> Sequence[str]:
    """The names of a block's terms: the block itself, its columns, or the categories of each column."""
    if family.one_feature and not has_word_terms(family):
        return [block]
    if num_terms == len(columns):
        return columns
    sizes = zip(columns, family.category_sizes(len(columns)), strict=True)
    return [f"{name} = {value}" for name, size in sizes for value in value_names.get(name, range(size))[:size]]


@singledispatch
def means(family: Any, params: Params) -> Array:
    """The mean of each term's cell in every class, [K, F]."""
    return family.likelihood(params).mean


@singledispatch
def divergence(family: Any, params: Params, k: int) -> Array:
    """E[log p(x_f | k) - log p(x_f | j) | y = k] for each term f and class j, [K, F]; by default by quadrature.

    The cells are quantiles x(u) of class k at u = Phi(z), for z on a grid: the quadrature converges exponentially in
    the number of its points, and a standard normal has a probability of 1e-15 beyond its ends.
    """
    distribution = family.likelihood(params)
    z = np.linspace(-8.0, 8.0, 161)
    try:
        if distribution.event_shape or distribution.support.is_discrete:
            raise NotImplementedError
        x = jax.vmap(distribution.icdf)(jax.scipy.special.ndtr(z))[:, k]
    except (NotImplementedError, ImportError):  # the second is NumPyro's, for another package's function
        raise ValueError(
            f"top_features needs the divergence of {type(family).__name__} between classes, and has it by quadrature "
            "only of likelihoods of real numbers with icdf: register a closed form, "
            f"bayesnb.inspection._top_features.divergence.register({type(family).__name__})"
        ) from None
    log_prob = jax.vmap(distribution.log_prob)(jnp.broadcast_to(x[:, None], (len(z), *distribution.batch_shape)))
    weights = norm.pdf(z) * (z[1] - z[0])
    return jnp.tensordot(weights, log_prob[:, k, None] - log_prob, axes=1)


@singledispatch
def raised_divergence(family: Any, params: Params, k: int, powers: Array) -> Array:
    """``divergence`` of the terms raised to powers, [K, F]. Pure JAX."""
    found = divergence(family, params, k)
    if powers.shape[0] not in (1, found.shape[1]):  # a term for each category
        powers = jnp.repeat(powers, np.array(family.category_sizes(powers.shape[0])))
    return found * powers[None]


def _relative(p: Array, k: int) -> Array:
    """p_k log(p_k / p_j) for each class j, [K, ...]."""
    return rel_entr(p[k][None], p)


def _of_trial(p: Array, k: int) -> Array:
    return _relative(p, k) + _relative(1.0 - p, k)


def _of_trials(family: Any, params: Params, k: int) -> Array:
    return jnp.atleast_2d(jnp.asarray(family.total_count or 1)) * _of_trial(params["probs"], k)


def _of_cells(family: Any, params: Params, k: int) -> Array:
    return _relative(means(family, params), k)


def _of_counts(family: Any, params: Params, k: int) -> Array:
    rate = means(family, params)
    return _relative(rate, k) - rate[k][None] + rate


def _of_normals(family: Any, params: Params, k: int) -> Array:
    cells = family.likelihood(params)
    variance = jnp.where(cells.variance == 0, 1.0, cells.variance)
    ratio = variance[k][None] / variance
    nats = 0.5 * (ratio - 1.0 - jnp.log(ratio) + jnp.square(cells.mean[k][None] - cells.mean) / variance)
    return jnp.where(cells.variance == 0, 0.0, nats)


def _of_vectors(family: Any, params: Params, k: int) -> Array:
    return covariances.divergence(params["loc"], family.as_table(params["covariance"]), k)[:, None]


@raised_divergence.register(Views)
def _(family: Any, params: Params, k: int, powers: Array) -> Array:
    """The sum over bins of their terms, those of other views at the bins' centres."""
    probs, centres = family.generative.bin_probs(params), _centres(family.generative).T
    terms = raise_terms(family, family.log_likelihood_terms(params, centres).finite, powers, centres)
    return jnp.einsum("dg,gjd->jd", probs[k], terms[:, k, None] - terms)


@divergence.register(Hurdle)
def _(family: Any, params: Params, k: int) -> Array:
    probs, (own, _) = params["atoms"], family.own(params)
    return _relative(probs, k).sum(axis=-1) + probs[k, :, -1][None] * divergence(family.parts[0], own, k)


def _centres(family: Any) -> Array:
    """The means of the bins, [D, G]."""
    return centres_of(jnp.asarray(family.edges[0]), jnp.asarray(family.atoms[0]))


@means.register(Histogram)
def _(family: Any, params: Params) -> Array:
    """The mean number; of ordered categories the probability of each level."""
    probs = family.bin_probs(params)
    return _of_levels(family, probs) if family.levels else (probs * _centres(family)[None]).sum(axis=-1)


@divergence.register(Histogram)
def _(family: Any, params: Params, k: int) -> Array:
    nats = _relative(family.bin_probs(params), k)
    return _of_levels(family, nats) if family.levels else nats.sum(axis=-1)


def _of_levels(family: Any, table: Array) -> Array:
    """The entries of levels end to end, of a table [..., D, G]."""
    return jnp.concatenate([table[..., d, :size] for d, size in enumerate(family.levels)], axis=-1)


means.register(Binomial, lambda _, params: params["probs"])
means.register(Categorical, lambda family, params: family.join(params))
means.register(Multinomial, lambda _, params: params["probs"])
means.register(MultivariateNormal, lambda _, params: jnp.full((len(params["loc"]), 1), jnp.nan))

divergence.register(Bernoulli, lambda _, params, k: _of_trial(params["probs"], k))
divergence.register(Binomial, _of_trials)
divergence.register(Categorical, _of_cells)
divergence.register(Multinomial, _of_cells)
divergence.register(MultivariateNormal, _of_vectors)
divergence.register(Normal, _of_normals)
divergence.register(NormalKnownVariance, _of_normals)
divergence.register(Poisson, _of_counts)
divergence.register(Transformed, lambda family, params, k: divergence(family.parts[0], params, k))

_reference = jax.jit(NaiveBayes.reference)
_divergence = jax.jit(lambda family, params, k, powers: raised_divergence(family, params, k, powers))


@jax.jit
def _means(family: Family, params: Params) -> Array:
    with allow_promotion():
        return means(generative(family), params)
