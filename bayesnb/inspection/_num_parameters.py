"""The number of free parameters of a model, and of the full joint table that it replaces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays._placement import known
from bayesnb.compute.arrays._typing import LabelsLike, Rows
from bayesnb.core.families import Binomial, Histogram, Multinomial, MultivariateNormal
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_shapes, columns_in


class NumParameters(NamedTuple):
    """``blocks``: free parameters by block, ``class_probs`` first; ``total``: their sum; ``full_joint``: the free
    entries of a table of p(x, y), None if a feature has infinitely many values. Exact ints.

    Example:
        >>> import bayesnb as nb
        >>> found = nb.num_parameters(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), num_columns=30)
        >>> found.blocks, found.total, found.full_joint
        ({'class_probs': 1, 'x': 60}, 61, 2147483647)
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
    model: NaiveBayes | Classifier,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    num_columns: int | Mapping[str, int] | None = None,
    num_classes: int | None = None,
) -> NumParameters:
    """The number of free parameters of a model or a fit.

    K classes have K - 1 free class probabilities, or 0 if they are fixed; Bernoulli, Binomial and Poisson blocks K D,
    Categorical K sum(C - 1), Multinomial K (D - 1), Normal 2 K D, or (K + 1) D if the variance is shared, and
    MultivariateNormal K (D + D (D + 1) / 2) or K D + D (D + 1) / 2. The full joint table of categorical features has
    K prod(C) - 1 free entries, 2^D K - 1 for binary ones: Mitchell, Machine Learning, chapter on generative and
    discriminative classifiers, section 1.

    Args:
        model: A ``NaiveBayes`` or a fit.
        X, y: Rows and labels, as for a fit, that say how many columns and classes there are.
        num_columns: Or the number of columns D, or a dict of them by block.
        num_classes: Or the number of classes K.

    Raises:
        ValueError: if columns or classes are unknown, or contradict the model.

    Example:
        >>> import bayesnb as nb
        >>> nb.num_parameters(nb.NaiveBayes(nb.Normal(), num_classes=3), num_columns=4).total  # 2 + 2 * 3 * 4
        26
    """
    specification: Any = getattr(model, "model", model)
    arguments.check_model(specification)
    columns = _columns(model, specification, X, num_columns)
    classes = _classes(model, specification, X, y, num_classes)
    blocks = {"class_probs": 0 if specification.class_probs is not None else classes - 1}
    joint: int | None = classes
    for name, family in specification.families.items():
        own, shared = _free_parameters(family, columns[name])
        blocks[name] = classes * own + shared
        values = num_values(family, columns[name])
        joint = None if joint is None or values is None else joint * values
    return NumParameters(blocks, sum(blocks.values()), None if joint is None else joint - 1)


def _columns(fit: Any, model: NaiveBayes, X: Any, num_columns: Any) -> dict[str, int]:
    """The number of columns of each block: from the fit, from the rows, or as given."""
    if X is not None:
        arrays = check_shapes(model.families, model.single, model.by_block(X))
        num_columns = {name: columns_in(family, arrays[name]) for name, family in model.families.items()}
    elif not isinstance(num_columns, Mapping):
        num_columns = dict.fromkeys(model.families, num_columns)
    elif model.single or not set(num_columns) <= set(model.families):
        blocks = list(model.families)
        raise ValueError(f"num_columns must be a number, or a dict by block {blocks}, got {num_columns!r}")
    fitted = fit.columns() if isinstance(fit, Classifier) else model.columns
    columns = {}
    for name, family in model.families.items():
        own, given = fitted[name] or family.declared_columns, num_columns.get(name)
        if given is not None:
            arguments.check_counts(num_columns=given)
        elif own is None:
            raise ValueError(f"the columns of block {name!r} are unknown: give X, or num_columns")
        if None not in (own, given) and own != given:
            raise ValueError(f"block {name!r} has {own} columns in the model, got {given}")
        columns[name] = int(given if own is None else own)
    return columns


def _classes(fit: Any, model: NaiveBayes, X: Any, y: Any, num_classes: int | None) -> int:
    """The number of classes: from the fit, as given, or from the labels."""
    params = getattr(fit, "params", None)
    fitted = model.num_classes or (np.shape(model.class_probs_of(params))[-1] if isinstance(params, Mapping) else None)
    given = arguments.check_num_classes(num_classes)
    if None not in (fitted, given) and fitted != given:
        raise ValueError(f"num_classes is {given}, the model has {fitted} classes")
    if not (fitted or given) and (X is None or y is None):
        raise ValueError("the number of classes is unknown: give X and y, or num_classes")
    return fitted or given or model.resolve(X, y).num_classes or 0


@singledispatch
def _free_parameters(family: Any, num_columns: int) -> tuple[int, int]:
    """The number of free parameters of each class, and the number that all classes share."""
    if all(sizes := family.category_sizes(num_columns)):
        return sum(sizes) - num_columns, 0
    common = len(family.common_sites)
    return (len(family.sites) - common) * num_columns, common * num_columns


@singledispatch
def num_values(family: Any, num_columns: int) -> int | None:
    """The number of different rows that the block can have; None if it is infinite."""
    sizes = family.category_sizes(num_columns)
    return math.prod(sizes) if all(sizes) else None


@num_values.register(Binomial)
def _(family: Any, num_columns: int) -> int | None:
    if family.total_count is None:
        return None
    totals = np.broadcast_to(family.total_count, num_columns).tolist()
    return math.prod(total + 1 for total in totals)


_free_parameters.register(Multinomial, lambda _, num_columns: (num_columns - 1, 0))


@_free_parameters.register(MultivariateNormal)
def _(family: Any, num_columns: int) -> tuple[int, int]:
    matrix = num_columns * (num_columns + 1) // 2
    return (num_columns, matrix) if family.shared else (num_columns + matrix, 0)


@_free_parameters.register(Histogram)
def _(family: Any, num_columns: int) -> tuple[int, int]:
    edges = None if family.atoms is None else known(family.edges)
    return (family.cells - 1) * num_columns if edges is None else int(np.isfinite(edges).sum()), 0
