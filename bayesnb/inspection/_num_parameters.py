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
from bayesnb.core.families import Binomial, Histogram, Mapped, Multinomial, MultivariateNormal
from bayesnb.core.families._views import generative
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import Classifier, PointEstimate, class_probs
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
    of: Any = getattr(model, "model", model)
    arguments.check_model(of)
    given: Any = num_columns
    known = model.columns() if isinstance(model, Classifier) else of.columns
    if X is not None:
        arrays = check_shapes(of.families, of.single, of.by_block(X))
        given = {name: columns_in(family, arrays[name]) for name, family in of.families.items()}
    elif not isinstance(given, Mapping):
        given = dict.fromkeys(of.families, given)
    elif of.single or not {*given} <= {*of.families}:
        raise ValueError(f"num_columns must be a number, or a dict by block {[*of.families]}, got {given!r}")
    own = class_probs(model).size if isinstance(model, PointEstimate) else of.num_classes
    labelled = of.resolve(X, y).num_classes if own is num_classes is None and X is not None and y is not None else None
    classes = _agree("the number of classes is", own or labelled, num_classes, "X and y", "num_classes")
    blocks, joint = {"class_probs": 0 if of.class_probs is not None else classes - 1}, classes
    for name, family in of.families.items():
        size = known[name] or family.declared_columns
        size = _agree(f"the columns of block {name!r} are", size, given.get(name), "X", "num_columns")
        per_class, shared = _free_parameters(generative(family), size)
        blocks[name] = classes * per_class + shared
        joint *= num_values(family, size) or 0  # as infinitely many have no product
    return NumParameters(blocks, sum(blocks.values()), joint - 1 if joint else None)


def _agree(what: str, own: int | None, given: int | None, rows: str, name: str) -> int:
    """The number that the model has, or the argument of this ``name``, which must be one if both are there."""
    if given is not None:
        arguments.check_counts(**{name: given})
    if (own or given) is None:
        raise ValueError(f"{what} unknown: give {rows}, or {name}")
    if None not in (own, given) and own != given:
        raise ValueError(f"{what} {own} in the model, got {name}={given}")
    return int(own or given or 0)


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
    return math.prod((np.broadcast_to(family.total_count, num_columns) + 1).tolist())


_free_parameters.register(Multinomial, lambda _, num_columns: (num_columns - 1, 0))


@_free_parameters.register(Mapped)
def _(family: Any, num_columns: int) -> tuple[int, int]:
    per_class, shared = zip(*family.each(lambda part: _free_parameters(part, num_columns)), strict=True)
    return sum(per_class), sum(shared)


@_free_parameters.register(MultivariateNormal)
def _(family: Any, num_columns: int) -> tuple[int, int]:
    matrix = num_columns * (num_columns + 1) // 2
    return (num_columns, matrix) if family.shared else (num_columns + matrix, 0)


@_free_parameters.register(Histogram)
def _(family: Any, num_columns: int) -> tuple[int, int]:
    edges = None if family.atoms is None else known(family.edges)
    return (family.num_bins - 1) * num_columns if edges is None else int(np.isfinite(edges).sum()), 0
