"""The families that stand for the names of likelihoods, with their default priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayesnb.families import Family
from bayesnb.families.words import FAMILIES


def families(kinds: Mapping[str, str], sizes: Sequence[int], smoothing: float, *, laplace: bool) -> dict[str, Family]:
    """The families of blocks: pseudo-counts for categories and words, pseudo-rows for numbers.

    Args:
        kinds: The kind of each block, except those that have a family.
        sizes: The number of categories of each Categorical column.
        smoothing: l. Bernoulli and Categorical features, and the words of a Multinomial, have the prior Dirichlet(l);
            a Normal feature l pseudo-rows for its mean and 2 l for its variance, a Poisson feature l; 1 if l is 0. A
            Histogram averages over its own.
        laplace: Use Dirichlet(1 + l) instead, whose mode is the textbook estimate.
    """
    added, rows = 1.0 + smoothing if laplace else smoothing, smoothing or 1.0
    made: dict[str, Any] = {
        "bernoulli": lambda: FAMILIES["bernoulli"](added, added),
        "categorical": lambda: FAMILIES["categorical"](tuple(max(size, 1) for size in sizes), added),
        "normal": lambda: FAMILIES["normal"](strength=rows, shape=rows),
        "histogram": FAMILIES["histogram"],
        "poisson": lambda: FAMILIES["poisson"](rows, rows),
        "multinomial": lambda: FAMILIES["multinomial"](added),
        "words": lambda: FAMILIES["multinomial"](added),
        "missing": lambda: FAMILIES["bernoulli"](added, added),
    }
    return {block: made[kind]() for block, kind in kinds.items()}
