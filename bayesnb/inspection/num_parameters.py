"""Count the free parameters of a model, and those of the full joint table that it replaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier
from bayesnb.rows import arguments
from bayesnb.rows.checks import check_shapes


class NumParameters(NamedTuple):
    """``blocks``: free parameters by block, ``class_probs`` first; ``total``: their sum; ``full_joint``: the free
    entries of a table of p(x, y), None if a feature has infinitely many values. Exact ints.
    """

    blocks: dict[str, int]
    total: int
    full_joint: int | None

    def __repr__(self) -> str:
        joint = self.full_joint
        # Python refuses to write an int of thousands of digits
        shown = joint if joint is None or joint < 10**15 else f"{Decimal(joint):.3e}"
        return f"NumParameters(blocks={self.blocks}, total={self.total}, full_joint={shown})"


def num_parameters(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    num_columns: int | Mapping[str, int] | None = None,
    num_classes: int | None = None,
) -> NumParameters:
    """Count the free parameters of a model or a fit.

    K classes have K - 1 free class probabilities, or 0 if they are fixed; Bernoulli, Binomial and Poisson blocks K D,
    Categorical K sum(C - 1), Multinomial K (D - 1), Normal 2 K D, or (K + 1) D if the variance is shared, and
    MultivariateNormal K (D + D (D + 1) / 2) or K D + D (D + 1) / 2. The full joint table of categorical features has
    K prod(C) - 1 free entries, 2^D K - 1 for binary ones: Mitchell, Machine Learning, chapter on generative and
    discriminative classifiers, section 1.

    Args:
        model: A ``NaiveBayes``, or a fit.
        X: Rows that determine the columns, if the model does not.
        y: Labels that determine the classes, if the model does not.
        num_columns: D instead of rows, a number, or a dict of numbers by block.
        num_classes: K instead of labels.

    Raises:
        ValueError: if columns or classes are unknown, or contradict the model.
    """
    given = getattr(model, "model", model)
    arguments.model(given)
    fitted = model.columns() if isinstance(model, Classifier) else given.columns
    columns = _columns(given, fitted, X, num_columns)
    classes = _classes(model, given, X, y, num_classes)
    counts = {name: family.num_parameters(columns[name]) for name, family in given.families.items()}
    blocks = {name: classes * own + shared for name, (own, shared) in counts.items()}
    blocks = {"class_probs": 0 if given.class_probs is not None else classes - 1, **blocks}
    values = [family.num_values(columns[name]) for name, family in given.families.items()]
    joint = None if None in values else math.prod(v for v in values if v is not None) * classes - 1
    return NumParameters(blocks, sum(blocks.values()), joint)


def _columns(
    model: NaiveBayes, fitted: Mapping[str, int | None], X: Any, num_columns: int | Mapping[str, int] | None
) -> dict[str, int]:
    told: dict[str, int | None] = dict.fromkeys(model.families)
    if X is not None:
        arrays = check_shapes(model.families, model.single, X)
        told |= {name: family.columns_in(arrays[name]) for name, family in model.families.items()}
    elif isinstance(num_columns, Mapping):
        if model.single or not set(num_columns) <= set(told):
            raise ValueError(f"num_columns is a number, or a dict by the blocks {list(told)}, got {num_columns!r}")
        told |= num_columns
    elif num_columns is not None:
        told = dict.fromkeys(told, num_columns)
    columns = {}
    for name, family in model.families.items():
        known = fitted[name] or family.declared_columns
        if told[name] is not None:
            arguments.counts(num_columns=told[name])
        if known is None and told[name] is None:
            raise ValueError(f"the columns of block {name!r} are unknown: give X, or num_columns")
        if None not in (known, told[name]) and known != told[name]:
            raise ValueError(f"block {name!r} has {known} columns in the model, got {told[name]}")
        columns[name] = known or told[name] or 0
    return columns


def _classes(fit: Any, model: NaiveBayes, X: Any, y: Any, num_classes: int | None) -> int:
    params = getattr(fit, "params", None)
    known = model.num_classes or (np.shape(params["class_probs"])[-1] if isinstance(params, Mapping) else None)
    declared = arguments.num_classes(num_classes)
    if None not in (known, declared) and known != declared:
        raise ValueError(f"num_classes is {declared}, the model has {known} classes")
    if known or declared:
        return known or declared or 0
    if X is None or y is None:
        raise ValueError("the number of classes is unknown: give X and y, or num_classes")
    return model.resolve(X, y).num_classes or 0
