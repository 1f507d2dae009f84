"""Rank features by what they add on average to the log odds of a class, over rows of that class.

    sum_{j != k} p(j) / (1 - p(k)) E[log p(x_f | k) - log p(x_f | j) | y = k]

This is the mean contribution in ``explain``. The expectations are Kullback-Leibler divergences, in closed form.
Kullback and Leibler, On information and sufficiency (1951). Each word and each category is ranked separately; its value
may be negative if it is less frequent in this class than in others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import Array, allow_promotion, to_double
from bayesnb.arrays.typing import Estimator, FeatureNames
from bayesnb.families.base import Family, Params
from bayesnb.inspection import display_names as names
from bayesnb.inspection.divergence import means, raised_divergence, term_sizes
from bayesnb.inspection.explain import class_probs
from bayesnb.inspection.word_terms import has_word_terms
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier, PointEstimate, Posterior
from bayesnb.results.estimators import unwrap_pipeline
from bayesnb.rows import arguments


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
    word it is nats per word of a row, for a Binomial whose totals are given with the rows nats per trial.

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
    sizes = {b: int(size or 0) for b, size in found.columns().items()}
    columns = names.check_column_names(found.model, own_features, sizes)
    shown = names.prefix_repeated(columns)
    words = names.check_value_names(own_values, found.model.families, columns, shown)
    powers = (found.weights if isinstance(found, Posterior) else None) or {}
    by_block, parts = found.model.block_params(params), []
    labels: list[str] = []
    for block, family in found.model.families.items():
        if not columns[block]:
            continue
        labels += _labels(family, block, shown[block], words)
        parts.append((family, by_block[block], powers.get(block, np.ones(1))))
    if not parts:
        raise ValueError("the model has no columns: top_features needs one or more")
    here = np.concatenate([compute(_means, family, own) for family, own, _ in parts], axis=1)
    result = TopFeatures()
    for k, name in enumerate(classes):
        one = np.arange(probs.size) == k
        others = np.where(one, 0.0, probs)
        others = others / others.sum() if others.any() else np.where(one, 0.0, 1.0 / (probs.size - 1))
        possible = others > 0
        divergences = [compute(_divergence, family, own, k, power) for family, own, power in parts]
        nats = np.concatenate([others[possible] @ part[possible] for part in divergences])
        table = np.stack([nats, here[k], others @ here], axis=1)
        order = np.argsort(-nats, kind="stable")[:count]
        result[name] = [TopFeature(labels[f], *table[f].tolist()) for f in order]
    return result


def _labels(family: Family, block: str, columns: Sequence[str], value_names: Mapping[str, Any]) -> Sequence[str]:
    """The names of a block's terms: the block itself, its columns, or the categories of each column."""
    if family.one_feature and not has_word_terms(family):
        return [block]
    sizes = family.category_sizes(len(columns))
    if term_sizes(family, len(columns)) != sizes:
        return columns
    by_column = ((name, value_names.get(name, range(size))[:size]) for name, size in zip(columns, sizes, strict=True))
    return [f"{name} = {value}" for name, values in by_column for value in values]


@jax.jit
def _means(family: Family, params: Params) -> Array:
    with allow_promotion():
        return means(family, params)


_reference = jax.jit(NaiveBayes.reference)
_divergence = jax.jit(lambda family, params, k, powers: raised_divergence(family, params, k, powers))
