"""How likelihoods of the logarithm or the logit of a cell look in a program, from how they look of the cell itself."""

from __future__ import annotations

from typing import Any

import numpyro.distributions as dist
from numpyro.distributions import transforms

from bayesnb.compute.arrays._placement import Array
from bayesnb.core.families._base import Family
from bayesnb.core.families._transformed import transformed
from bayesnb.core.families.parts._mapped_cells import MAPS, MappedCells
from bayesnb.recognition._reading import Reading
from bayesnb.recognition._user_program import base_of


class OfMapped:
    """A likelihood of cells whose logarithms or logits have that of ``base``, which gives all else."""

    def __init__(self, base: Reading, transform: str) -> None:
        self.base, self.transform = base, transform

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def _wrap(self, base: Reading | None) -> Any:
        return None if base is None else OfMapped(base, self.transform)

    def params(self, given: dist.Distribution) -> dict[str, Array] | None:
        """Those of the distribution of the logarithm or logit."""
        base, transform = unmapped(given)
        return self.base.params(base) if transform == self.transform else None

    def simplify(self, params: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
        """With a known location, the likelihood of one rate."""
        known = "variance" in params and bool((params["loc"] == params["loc"][:1]).all())
        return (self.integrated(), self.base.arguments(params)) if known else (self, params)

    def with_known(self, site: str) -> Any:
        """As for the base, and so are the following."""
        return self._wrap(self.base.with_known(site))

    def integrated(self) -> Any:
        return self._wrap(self.base.integrated())

    def conjugate(self, known: dict[str, Any]) -> Any:
        return self._wrap(self.base.conjugate(known))

    def make(self, given: dict[str, Any]) -> Family:
        """The base's family of mapped cells."""
        return transformed(self.base.make(given), self.transform)


INVERSES = {"log": transforms.ExpTransform, "logit": transforms.SigmoidTransform}
"""The inverse of each map as NumPyro has it."""


def unmapped(given: Any) -> tuple[Any, str]:
    """The distribution of the logarithm or logit of a cell, and which of them; else the given one, and no map."""
    if isinstance(given, MappedCells):
        return base_of(given.base), next(name for name, change in MAPS.items() if change is given.change)
    base, changes = base_of(getattr(given, "base_dist", None)), [type(one) for one in getattr(given, "transforms", ())]
    return next(((base, name) for name, inverse in INVERSES.items() if changes == [inverse]), (given, ""))
