"""What is fitted to rows with a schema: the model, and what is learned besides where nobody chose.

One rule for the estimator, for files and for comparisons.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families import Family
from bayesnb.families.words import with_views
from bayesnb.frames.blocks import Schema
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier, Posterior
from bayesnb.sklearn.settings import ordered_probs, require
from bayesnb.validation.left_out_evidence import one_in

MOST_CLASSES, MOST_CELLS, MOST_PRODUCTS = 30, 1 << 22, 2_000_000_000
"""Powers of single features are learned by default if there are no more classes, and if the rows' evidence, N (K - 1) F
numbers, and its products with itself, F times as many, are no more: what takes seconds."""

FEWEST_ROWS = 50
"""A first batch of fewer rows is too small to find cells in."""


class Plan(NamedTuple):
    """What is learned: with ``views`` numbers that were inferred are seen by three views; ``powers`` as ``temper``."""

    views: bool
    powers: bool | str


def plan(
    schema: Schema,
    num_rows: int,
    num_classes: int,
    method: str,
    temper: bool | str | None,
    *,
    sparse: Collection[str] = (),
    first_batch: bool = False,
) -> Plan:
    """What is learned from so many rows with this schema; the blocks ``sparse`` are sparse matrices.

    If nothing else was asked, inferred numbers have three views and every feature a power, where that takes seconds. A
    ``first_batch``, whose fit is to be changed by others, has views and no powers.
    """
    if temper is not None or method != "posterior" or not schema.infers_numbers:
        return Plan(views=False, powers=temper or False)
    if first_batch:
        return Plan(views=num_rows >= FEWEST_ROWS, powers=False)
    widths = {block: len(names) for block, names in schema.names_by_block.items()}
    found = _families(schema, 1.0, laplace=False, views=True)
    families = {"x": found} if isinstance(found, Family) else found
    features = sum(family.num_powers(widths[block]) for block, family in families.items())
    cells = num_rows // one_in(num_rows) * (num_classes - 1) * features
    dense = all(families[block].one_feature for block in sparse)
    learns = dense and num_classes <= MOST_CLASSES and cells <= MOST_CELLS and cells * features <= MOST_PRODUCTS
    return Plan(views=learns, powers="per_feature" if learns else False)


def specification(
    method: Any,
    smoothing: Any,
    schema: Schema,
    classes: Array,
    class_prior: Any = None,
    likelihoods: Any = None,
    *,
    views: bool = False,
) -> NaiveBayes:
    """The model for rows with this schema: Dirichlet(l) priors, or Dirichlet(1 + l) for the MAP.

    If the ``likelihoods`` are a model itself, it is that one, with its own priors. With ``views`` numbers that
    were inferred are seen by three views.

    Raises:
        ValueError: if the method is unknown, or needs a prior and smoothing is not positive; for invalid probabilities.
    """
    require(method, smoothing)
    if isinstance(likelihoods, NaiveBayes):
        if likelihoods.num_classes not in (None, len(classes)):
            raise ValueError(
                f"the model has {likelihoods.num_classes} classes, and y has {len(classes)}: leave num_classes out, or "
                "declare the labels in partial_fit, classes=[...]"
            )
        probs = ordered_probs(class_prior, classes)
        return likelihoods if probs is None else likelihoods.with_class_probs(probs)
    # the MLE ignores the prior, but a model must have one
    families = _families(schema, 1.0 if method == "mle" else float(smoothing), laplace=method == "map", views=views)
    return NaiveBayes(families, num_classes=len(classes), class_probs=ordered_probs(class_prior, classes))


def has_views(schema: Schema, model: NaiveBayes) -> bool:
    """Whether some numbers were inferred and are seen by several views."""
    return any(model.families[block].several_views for block in schema.inferred_blocks & {*model.families})


def has_powers(fit: Classifier) -> bool:
    """Whether powers of the features were learned from the rows of the fit."""
    if not isinstance(fit, Posterior) or fit.weights is None:
        return False
    start = fit.prior.start_powers()
    return start is None or not all(np.array_equal(fit.weights[block], start[block]) for block in start)


def _families(schema: Schema, smoothing: float, *, laplace: bool, views: bool) -> Family | dict[str, Family]:
    """The family of a single block, or those of the blocks by name."""
    found = schema.likelihoods(smoothing, laplace=laplace)
    own = schema.inferred_blocks if views else set()
    if isinstance(found, Family):
        return with_views(found) if own else found
    return {block: with_views(family) if block in own else family for block, family in found.items()}
