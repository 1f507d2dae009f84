"""The families by their names on the command line and in ``likelihoods``."""

from __future__ import annotations

from typing import Any

from bayesnb import families

FAMILIES: dict[str, Any] = {
    "bernoulli": families.Bernoulli,
    "categorical": families.Categorical,
    "normal": families.Normal,
    "histogram": families.Histogram,
    "poisson": families.Poisson,
    "multinomial": families.Multinomial,
}
