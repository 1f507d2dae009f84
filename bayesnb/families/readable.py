"""What recognition needs to know about a family, to read its parameters and priors off a user's program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpyro.distributions as dist
from numpyro.distributions.constraints import Constraint

from bayesnb.arrays.placement import Array


class Readable:
    """How a family's likelihood and prior look in a program; the defaults suit one that is not recognised."""

    site_supports: ClassVar[tuple[tuple[str, Constraint], ...]] = ()
    """The support of each site."""

    laws: ClassVar[tuple[type[dist.Distribution], ...]] = ()
    """NumPyro's classes of this likelihood, with attributes that have the sites' names."""

    known_parameter: ClassVar[tuple[type[Any], str] | None] = None
    """The family with the same likelihood in which one of this one's hyperparameters is a parameter, and its name."""

    @classmethod
    def support_of(cls, site: str) -> Constraint:
        """The support of a site, or of the site of one column, such as ``probs_3``."""
        return dict(cls.site_supports)[site.partition("_")[0]]

    @classmethod
    def read(cls, law: dist.Distribution) -> dict[str, Array] | None:
        """The parameters of a NumPyro distribution of cells; None if it is not this family's likelihood."""
        return {site: getattr(law, site) for site, _ in cls.site_supports} if isinstance(law, cls.laws) else None

    @classmethod
    def simplify(cls, params: dict[str, Array]) -> tuple[type[Any], dict[str, Array]]:
        """A simpler family with the same likelihood, and its parameters; by default this one."""
        return cls, params

    @classmethod
    def prior_terms(cls, site: str, params: Mapping[str, Array]) -> tuple[Array, ...]:
        """The functions of the parameters of which the log density of the site's prior is a linear combination.

        The first ones are the logs that ``tilt`` multiplies.
        """
        raise NotImplementedError

    @classmethod
    def prior_of(cls, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        """Hyperparameters from the coefficients [F, ...] of ``prior_terms``, and where they are a valid prior."""
        raise NotImplementedError

    def tilt(self, site: str, powers: tuple[float, ...]) -> Self:
        """The prior times powers of the parameter: x^p, or x^p (1 - x)^q for a probability.

        Its mode is the mode of the density of a function of the parameter, such as a precision.
        """
        del site, powers
        return self
