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


def with_views(family: families.Family) -> families.Family:
    """The family, or for a Normal three views of its columns, of which it is one."""
    if type(family) is not families.Normal:
        return family
    return families.Views(family, families.NormalScores(), families.Histogram())
