"""Rank features by what they add on average to the log odds of a class, over rows of that class.

    sum_{j != k} p(j) / (1 - p(k)) E[log p(x_f | k) - log p(x_f | j) | y = k]

This is the mean contribution in ``explain``. The expectations are Kullback-Leibler divergences, in closed form.
Kullback and Leibler, On information and sufficiency (1951). Each word and each category is ranked separately; its value
may be negative if it is less frequent in this class than in others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.host_calls import at_once
from bayesnb.arrays.placement import Array, to_double
from bayesnb.families.base import Family, Params
from bayesnb.inspection import display_names as names
from bayesnb.inspection.additive_terms import class_probs
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.rows import arguments


class TopFeature(NamedTuple):
    """A feature's ``name``, the ``nats`` it adds on average, and its mean ``here``, in the class, and ``elsewhere``.

    For a word or a category the mean is its probability; for a block of many columns it is NaN.
    """

    name: str
    nats: float
    here: float
    elsewhere: float


class TopFeatures(dict[str, list[TopFeature]]):
    """Features by class name, the strongest first."""

    def __repr__(self) -> str:
        """The features of all classes as a table."""
        width = max((len(part.name) for found in self.values() for part in found), default=0)
        lines = []
        for name, found in self.items():
            lines.append(f"{name:{width + 2}}  {'nats':>9}  {'mean here':>11}  {'elsewhere':>11}")
            lines += [f"  {f.name:{width}}  {f.nats:9.4g}  {f.here:11.4g}  {f.elsewhere:11.4g}" for f in found]
        return "\n".join(lines)


def top_features(
    fit: Any,
    count: int = 10,
    *,
    class_names: Any = None,
    feature_names: Any = None,
    value_names: Mapping[str, Sequence[Any]] | None = None,
) -> TopFeatures:
    """The features, words or categories with the largest mean contribution to the log odds of each class.

    For an exact posterior the parameters are taken at their means (a variance at rate / shape). The unit is nats; for a
    word it is nats per word of a row, for a Binomial whose totals are given with the rows nats per trial.

    Args:
        fit: A ``PointEstimate`` or ``Posterior``, or a fitted ``NaiveBayesClassifier``, which has the names.
        count: The number of features for each class.
        class_names: K names; 0..K-1 if not given.
        feature_names: D names, or a dict of them by block; ``x[3]`` if not given.
        value_names: Names of the codes 0, 1, ..., by the name of the feature.

    Raises:
        ValueError: for another fit, for a single class, names that do not fit, and inside a JAX transformation.
    """
    fit, class_names, feature_names, value_names = names.complete_names(fit, class_names, feature_names, value_names)
    if not isinstance(fit, PointEstimate | Posterior):
        raise ValueError(
            f"top_features takes a PointEstimate or a Posterior, got {type(fit).__name__}; for an AveragedPosterior, "
            "give its attribute posterior"
        )
    arguments.check_counts(count=count)
    arguments.require_known("top_features", fit)
    fit = to_double(fit)
    params = fit.params if isinstance(fit, PointEstimate) else at_once(type(fit.model).reference, fit.model)
    probs = class_probs(fit)
    classes = names.check_class_names(class_names, probs.size)
    if len(classes) < 2:
        raise ValueError("the model has a single class: top_features compares two or more")
    sizes = {b: int(size or 0) for b, size in fit.columns().items()}
    columns = names.check_column_names(fit.model, feature_names, sizes)
    shown = names.prefix_repeated(columns)
    value_names = names.check_value_names(value_names, fit.model.families, columns, shown)
    powers = (fit.weights if isinstance(fit, Posterior) else None) or {}
    by_block = fit.model.block_params(params)
    blocks = [
        _Block(family, by_block[block], shown[block], block, powers.get(block, np.ones(1)), value_names)
        for block, family in fit.model.families.items()
        if columns[block]
    ]
    if not blocks:
        raise ValueError("the model has no columns: top_features needs one or more")
    return TopFeatures({name: _of_class(k, blocks, probs, count) for k, name in enumerate(classes)})


class _Block(NamedTuple):
    family: Family
    params: Params
    columns: tuple[str, ...]
    name: str
    powers: Array
    value_names: Mapping[str, Sequence[Any]]


def _of_class(k: int, blocks: list[_Block], probs: Array, count: int) -> list[TopFeature]:
    others = np.where(np.arange(probs.size) == k, 0.0, probs)
    others = others / others.sum() if others.any() else np.where(np.arange(probs.size) == k, 0, 1 / (probs.size - 1))
    possible = others > 0
    features = []
    for block in blocks:
        family, sizes = block.family, block.family.term_sizes(len(block.columns))
        powers = block.powers if block.powers.size == 1 else np.repeat(block.powers, sizes)
        nats = others[possible] @ (powers * at_once(type(family).divergence, family, block.params, k))[possible]
        means = at_once(type(family).means, family, block.params)
        here, elsewhere = means[k], others @ means
        for term in np.argsort(-nats, kind="stable")[:count].tolist():
            numbers = (float(values[term]) for values in (nats, here, elsewhere))
            features.append(TopFeature(_name(block, sizes, term), *numbers))
    return sorted(features, key=lambda feature: -feature.nats)[:count]


def _name(block: _Block, sizes: tuple[int, ...], term: int) -> str:
    """The name of a term: that of its block or column, with the category if each category is a term."""
    if block.family.one_feature and not block.family.has_word_terms:
        return block.name
    starts = np.cumsum([0, *sizes])
    column = int(np.searchsorted(starts, term, side="right")) - 1
    name, code = block.columns[column], term - starts[column]
    if sizes != block.family.category_sizes(len(sizes)):
        return name
    return f"{name} = {block.value_names[name][code] if name in block.value_names else code}"
