"""How the likelihood and the prior of each family look in a program.

A family is a class here, as its hyperparameters are yet to be found. One that is not registered is not recognised.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays._placement import Array
from bayesnb.core.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Multinomial,
    MultivariateNormal,
    Normal,
    NormalKnownVariance,
    Poisson,
)
from bayesnb.core.families._base import Family, Params
from bayesnb.core.families._multivariate_normal import NormalOfSeen
from bayesnb.core.families.parts._conjugate_form import Power
from bayesnb.core.families.parts._frames import scale_of


class Reading:
    """How a family looks in a program; this one, of a family that is not registered, has no likelihood."""

    supports: ClassVar[tuple[tuple[str, Constraint], ...]] = ()
    """The support of each site."""

    likelihoods: ClassVar[tuple[type[dist.Distribution], ...]] = ()
    """NumPyro's classes of the likelihood, with attributes that have the sites' names."""

    def __init__(self, family: Any) -> None:
        self.family = family

    plain: Any = None
    """The likelihood as NumPyro's distribution with arguments of its own, if ``nb.Likelihood`` integrates over them."""

    unknown, integrates = False, False
    """Whether no family has this likelihood by name, and whether its answers are integrals by quadrature."""

    def integrated(self) -> Reading | None:
        """That of ``nb.Likelihood`` with the same likelihood and its ``arguments``; None if there is none."""
        return None if self.plain is None else Quadrature(self.plain)

    def conjugate(self, known: dict[str, Any]) -> Reading:
        """That of a family with a conjugate prior, if these arguments are known; by default itself."""
        del known
        return self

    def make(self, given: dict[str, Any]) -> Family:
        """The family with these hyperparameters, and what else it is made of."""
        found: Family = self.family(**given)
        return found

    def support(self, site: str) -> Constraint:
        """The support of a site, or of the site of one column, such as ``probs_3``."""
        return dict(self.supports)[site.partition("_")[0]]

    def params(self, given: dist.Distribution) -> dict[str, Array] | None:
        """The parameters of a NumPyro distribution of cells; None if it is not this family's likelihood."""
        return {s: getattr(given, s) for s, _ in self.supports} if isinstance(given, self.likelihoods) else None

    def simplify(self, params: dict[str, Array]) -> tuple[Reading, dict[str, Array]]:
        """That of a simpler family with the same likelihood, and its parameters; by default the family itself."""
        return self, params

    def arguments(self, params: dict[str, Array]) -> dict[str, Array]:
        """The arguments of the ``plain`` likelihood; by default the parameters themselves."""
        return params

    def with_known(self, site: str) -> Reading | None:
        """How the family looks in which this parameter is known; None if there is no such family."""
        known = (f for f in Family.known.values() if getattr(f, "known_parameter", None) == (self.family, site))
        return next(map(reading_of, known), None)

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        """The functions whose linear combination is the site's log prior density.

        The first ones are the logs that ``model.tilt`` multiplies.
        """
        raise NotImplementedError

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        """Hyperparameters from the coefficients [F, ...] of ``prior_terms``, and where they are a valid prior."""
        raise NotImplementedError


@singledispatch
def _reading(family: Any) -> Reading:
    return Reading(family)


def reading_of(family: Any) -> Reading:
    """How the family, or the one that it is made of, looks in a program."""
    return _reading.dispatch(family)(family)


def names_of_likelihoods() -> str:
    """The families whose likelihood is recognised."""
    read = (family.__name__ for family, reading in _reading.registry.items() if getattr(reading, "likelihoods", ()))
    return ", ".join(sorted(read))


class Quadrature(Reading):
    """Any distribution of NumPyro, each of whose arguments has a prior of its own, or is a number."""

    unknown, integrates = True, True

    def __init__(self, kind: Any) -> None:
        super().__init__(Family.known["Likelihood"])
        self.kind = self.plain = kind

    @property
    def supports(self) -> tuple[tuple[str, Constraint], ...]:  # type: ignore[override]
        return tuple(self.kind.arg_constraints.items())

    def support(self, site: str) -> Constraint:
        return dict(self.supports)[site]

    def params(self, given: dist.Distribution) -> dict[str, Array] | None:
        known = getattr(dist, self.kind.__name__, None) is self.kind and not given.event_dim and self.supports
        return {s: getattr(given, s) for s, _ in self.supports} if known and scale_of(given.support) else None

    def with_known(self, site: str) -> Reading | None:
        del site  # any may be
        return self

    def conjugate(self, known: dict[str, Any]) -> Reading:
        try:
            numbers = {short: float(np.unique(values).item()) for short, values in known.items()}
            return _OneRate(self.kind, Family.known["OneRate"](self.kind, **numbers))
        except ValueError:  # several numbers, or another form
            return self

    def make(self, given: dict[str, Any]) -> Family:
        found: Family = self.family(self.kind, **given)
        return found

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        del site, params  # none is conjugate
        return ()


class _OneNumber(Reading):
    """Log density linear in log theta and theta^power, or in log theta and log(1 - theta)."""

    power: Power = None
    names = ("a", "b")
    """Of the hyperparameters."""

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        theta = params[site]
        return jnp.log(theta), jnp.log1p(-theta) if self.power is None else theta**self.power

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        del site
        one, other = coefficients
        a, b = (one + 1.0, other + 1.0) if self.power is None else ((one + 1.0) / self.power, -other)
        return dict(zip(self.names, (a, b), strict=True)), (a > 0) & (b > 0)


class _OneRate(_OneNumber, Quadrature):
    """A distribution of NumPyro with a conjugate prior of its one unknown argument."""

    integrates = False

    def __init__(self, kind: Any, law: Any) -> None:
        super().__init__(kind)
        self.family, self.law, self.power = type(law), law, law.power

    def make(self, given: dict[str, Any]) -> Family:
        return self.law._replace(a=given["a"], b=given["b"])


@_reading.register(Bernoulli)
class _Bernoulli(_OneNumber):
    supports = (("probs", dist.constraints.unit_interval),)
    likelihoods = (dist.BernoulliProbs, dist.BernoulliLogits)
    plain = dist.BernoulliProbs


@_reading.register(Binomial)
class _Binomial(_OneNumber):
    supports = _Bernoulli.supports
    likelihoods = (dist.BinomialProbs, dist.BinomialLogits)


class _Dirichlet(Reading):
    """Log density linear in log theta_c."""

    supports = (("probs", dist.constraints.simplex),)

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        return tuple(jnp.moveaxis(jnp.log(params[site]), -1, 0))

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        del site
        concentration = jnp.moveaxis(coefficients + 1.0, 0, -1)
        return {"concentration": concentration}, (concentration > 0).all(axis=-1)


DIRICHLET = _Dirichlet(Family)
"""Of the class probabilities."""


@_reading.register(Categorical)
class _Categorical(_Dirichlet):
    likelihoods = (dist.CategoricalProbs, dist.CategoricalLogits)

    def simplify(self, params: dict[str, Array]) -> tuple[Reading, dict[str, Array]]:
        probs = params["probs"].reshape(*params["probs"].shape[:2], -1, params["probs"].shape[-1])
        last = (probs > 0).any(axis=(0, 1))[:, ::-1].argmax(axis=-1)
        if not last.any():
            return self, params
        # the columns' tables were padded to one size
        return self, {f"probs_{d}": probs[:, :, d, : probs.shape[-1] - zeros] for d, zeros in enumerate(last)}


@_reading.register(Multinomial)
class _Multinomial(_Dirichlet):
    likelihoods = (dist.MultinomialProbs, dist.MultinomialLogits)


@_reading.register(Normal)
class _Normal(Reading):
    """Log density linear in log sigma2, 1 / sigma2, mu / sigma2 and mu^2 / sigma2."""

    supports = (("loc", dist.constraints.real), ("variance", dist.constraints.positive))
    likelihoods = (dist.Normal,)
    plain = dist.Normal

    def arguments(self, params: dict[str, Array]) -> dict[str, Array]:
        return {"loc": params["loc"], "scale": jnp.sqrt(params["variance"])}

    def params(self, given: dist.Distribution) -> dict[str, Array] | None:
        return {"loc": given.loc, "variance": jnp.square(given.scale)} if type(given) is dist.Normal else None

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        log, one = jnp.log(params["variance"]), 1.0 / params["variance"]
        return (log, one) if site == "variance" else (log, one, params["loc"] * one, jnp.square(params["loc"]) * one)

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        if site == "variance":
            shape, rate = -coefficients[0] - 1.0, -coefficients[1]
            return {"shape": shape, "rate": rate}, (shape > 0) & (rate > 0)
        strength = -2.0 * coefficients[3]
        loc = coefficients[2] / jnp.where(strength > 0, strength, 1.0)
        expected = jnp.stack([jnp.full_like(loc, -0.5), -0.5 * strength * jnp.square(loc)])
        near = jnp.abs(coefficients[:2] - expected) < 1e-7 * (1.0 + jnp.abs(expected))
        return {"loc": loc, "strength": strength}, (strength > 1e-9) & near.all(axis=0)


@_reading.register(NormalKnownVariance)
class _NormalKnownVariance(Reading):
    """Log density linear in mu and mu^2; the likelihood is read as that of ``Normal``."""

    supports = (("loc", dist.constraints.real),)

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        return params[site], jnp.square(params[site])

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        del site
        precision = -2.0 * coefficients[1]
        valid = precision > 1e-9
        precision = jnp.where(valid, precision, 1.0)
        return {"loc": coefficients[0] / precision, "scale": precision**-0.5}, valid


@_reading.register(MultivariateNormal)
class _MultivariateNormal(Reading):
    """Log density linear in log |Sigma| and the entries of Sigma^-1, Sigma^-1 mu and mu' Sigma^-1 mu."""

    supports = (("loc", dist.constraints.real_vector), ("covariance", dist.constraints.positive_definite))
    likelihoods = (dist.MultivariateNormal, NormalOfSeen)

    def params(self, given: dist.Distribution) -> dict[str, Array] | None:
        return {"loc": given.loc, "covariance": given.covariance_matrix} if type(given) in self.likelihoods else None

    def simplify(self, params: dict[str, Array]) -> tuple[Reading, dict[str, Array]]:
        covariance = params["covariance"]
        variance = np.diagonal(covariance, axis1=-2, axis2=-1)
        if (covariance == variance[..., None] * np.eye(covariance.shape[-1])).all():
            diagonal: Any = self.family
            return reading_of(diagonal.diagonal), {"loc": params["loc"], "variance": variance}
        return self, params

    def prior_terms(self, site: str, params: Params) -> tuple[Array, ...]:
        precision = jnp.linalg.inv(params["covariance"])
        rows, columns = np.triu_indices(precision.shape[-1])
        log = jnp.linalg.slogdet(params["covariance"])[1][None]
        matrix = jnp.moveaxis(precision[..., rows, columns] * np.where(rows == columns, 1.0, 2.0), -1, 0)
        if site == "covariance":
            return (*log, *matrix)
        slope = jnp.einsum("...de,...e->...d", precision, params["loc"])
        return (*log, *matrix, *jnp.moveaxis(slope, -1, 0), (slope * params["loc"]).sum(axis=-1))

    def prior_of(self, site: str, coefficients: Array) -> tuple[dict[str, Array], Array]:
        size = round((np.sqrt(8.0 * len(coefficients) - 7.0) - 1.0) / 2.0)  # 1 + size (size + 1) / 2 coefficients
        size = size - 1 if site == "loc" else size
        rows, columns = np.triu_indices(size)
        matrix = jnp.zeros((*coefficients.shape[1:], size, size))
        values = -2.0 * jnp.moveaxis(coefficients[1 : 1 + len(rows)], 0, -1)
        matrix = matrix.at[..., rows, columns].set(values).at[..., columns, rows].set(values)
        if site == "covariance":
            df = -2.0 * coefficients[0] - size - 1.0
            return {"df": df, "scale": matrix}, (df > size - 1.0) & (jnp.linalg.eigvalsh(matrix)[..., 0] > 0)
        strength = -2.0 * coefficients[-1]
        loc = jnp.moveaxis(coefficients[1 + len(rows) : -1], 0, -1) / jnp.where(strength > 0, strength, 1.0)[..., None]
        outer = strength[..., None, None] * loc[..., :, None] * loc[..., None, :]
        near = (jnp.abs(matrix - outer) < 1e-6 * (1.0 + jnp.abs(outer))).all(axis=(-2, -1))
        return {"loc": loc, "strength": strength}, near & (strength > 1e-9) & (jnp.abs(coefficients[0] + 0.5) < 1e-6)


@_reading.register(Poisson)
class _Poisson(_OneNumber):
    power, names = 1.0, ("shape", "rate")
    supports = (("rate", dist.constraints.positive),)
    likelihoods = (dist.Poisson,)
    plain = dist.Poisson
