"""Families whose columns share parameters, as programs may have them; ``parts.tied_columns`` says how they differ."""

from __future__ import annotations

from dataclasses import field

from bayesnb.arrays.pytree import pytree
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.normal import Normal
from bayesnb.families.parts.tied_columns import TiedColumns
from bayesnb.families.poisson import Poisson


@pytree
class TiedBernoulli(TiedColumns, Bernoulli):
    """Binary features with one probability for each group of columns; hyperparameters broadcast to [K, G]."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Bernoulli


@pytree
class TiedCategorical(TiedColumns, Categorical):
    """Unordered categories with one table of probabilities for each group of columns, all with C categories."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Categorical


@pytree
class TiedNormal(TiedColumns, Normal):
    """Real features with one mean and variance for each group of columns; the classes share none."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Normal


@pytree
class TiedPoisson(TiedColumns, Poisson):
    """Counts with one rate for each group of columns."""

    columns: tuple[int, ...] = field(default=(0,), metadata={"static": True})

    untied = Poisson
