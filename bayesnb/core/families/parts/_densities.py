"""A NumPyro distribution as a likelihood: which of its arguments are unknown, and its density in their coordinates.

The coordinates phi of unknown arguments are real, theta = biject_to(constraint)(phi): logarithms of positive ones. An
argument's prior is Normal in phi, with a centre and a spread from the data, or a distribution that the user gives, with
numbers of each class and column.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.stats import norm
from numpyro.distributions import biject_to, constraints
from numpyro.distributions.transforms import AffineTransform

from bayesnb.compute.arrays._placement import Array, allow_promotion
from bayesnb.compute.jaxpr_numpy import by_numpy
from bayesnb.core.families.parts._frames import scale_of
from bayesnb.core.families.parts._links import TRANSFORMS, ChangedDistribution, name_of

MOST_UNKNOWN = 3
"""Integrals are sums over a lattice in so many dimensions."""

OTHERS: dict[str, Any] = {"logits": constraints.real, "loc": constraints.real, "probs": constraints.unit_interval}
"""The constraints of arguments of functions, whose distributions have other arguments; positive if not here."""

Given = tuple[tuple[str, Any], ...]
"""Known arguments: a number each, or a prior without numbers, ("InverseGamma", ("concentration", "rate"), ("root",)).

It is its distribution, the names of its arguments, and the changes from its draws to the argument, by name; the
"affine" one has two numbers of its own.
"""

Powers = tuple[tuple[str, tuple[float, ...]], ...]
"""By argument, powers of itself, and for probabilities of 1 - itself, that multiply the density before its mode."""


class Density(NamedTuple):
    """A distribution of NumPyro, by its name or as a class, with what is known of its arguments."""

    distribution: Any
    given: Given
    tilts: Powers = ()

    def make(self, arguments: Mapping[str, Any]) -> dist.Distribution:
        """The distribution with these values of the unknown arguments."""
        known = {name: value for name, value in self.given if not isinstance(value, tuple)}
        # between counts, too, where NumPyro would refuse a number
        return constructor(self.distribution)(**known, **arguments, validate_args=False)

    @property
    def unknown(self) -> dict[str, Any]:
        """The unknown arguments with their constraints."""
        return _unknown(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, the sites."""
        return tuple(self.unknown)

    def arguments(self, phi: Array) -> dict[str, Array]:
        """Unknown arguments from coordinates [..., Q]."""
        return {name: biject_to(one)(phi[..., q]) for q, (name, one) in enumerate(self.unknown.items())}

    def coordinates(self, arguments: Mapping[str, Array]) -> Array:
        """phi [..., Q]."""
        return jnp.stack([biject_to(one).inv(jnp.asarray(arguments[n])) for n, one in self.unknown.items()], axis=-1)

    def log_prob(self, phi: Array, x: Array) -> Array:
        """log p(x | phi), [..., G, M], at phi [..., G, Q] and x [..., M]."""
        with allow_promotion():
            return self.make(self.arguments(phi[..., :, None, :])).log_prob(x[..., None, :])

    @property
    def num_numbers(self) -> int:
        """The number H of numbers that priors have."""
        return sum(len(names) + 2 * changes.count("affine") for _, (_, names, changes) in self.priors)

    @property
    def priors(self) -> list[Any]:
        """The arguments that have a prior of their own, with these."""
        return [(name, value) for name, value in self.given if isinstance(value, tuple)]

    def own_priors(self, numbers: Array) -> dict[str, dist.Distribution]:
        """These priors, with ``numbers`` [..., H]."""
        found, at = {}, iter(jnp.moveaxis(jnp.asarray(numbers), -1, 0))
        for name, (kind, names, changes) in self.priors:
            prior = getattr(dist, kind)(**{one: next(at) for one in names})
            steps = [AffineTransform(next(at), next(at)) if c == "affine" else TRANSFORMS[c] for c in changes]
            found[name] = ChangedDistribution(prior, steps, self.unknown[name]) if steps else prior
        return found

    def prior(self, q: int, centre: Array, spread: Array, numbers: Array) -> dist.Distribution:
        """The prior of the unknown argument number ``q``."""
        name, constraint = [*self.unknown.items()][q]
        if name in dict(self.given):
            return self.own_priors(numbers)[name].expand(jnp.shape(centre))
        normal = dist.Normal(centre, spread)
        return normal if constraint is constraints.real else dist.TransformedDistribution(normal, biject_to(constraint))

    def log_prior(self, phi: Array, centre: Array, spread: Array, numbers: Array) -> Array:
        """The log density of phi [..., Q]; the others broadcast to it."""
        own, total = self.own_priors(numbers), jnp.zeros(phi.shape[:-1])
        for q, (name, constraint) in enumerate(self.unknown.items()):
            place, change = phi[..., q], biject_to(constraint)
            if name in own:
                value = change(place)
                with allow_promotion():
                    total += own[name].log_prob(value)
                total += change.log_abs_det_jacobian(place, value)
            else:
                total += norm.logpdf(place, centre[..., q], spread[..., q])
        return total

    def log_jacobian(self, phi: Array) -> Array:
        """log |d theta / d phi|, which a density of phi has more than that of theta."""
        changes = [(biject_to(one), phi[..., q]) for q, one in enumerate(self.unknown.values())]
        return sum(
            (change.log_abs_det_jacobian(own, change(own)) for change, own in changes), jnp.zeros(phi.shape[:-1])
        )

    def log_tilt(self, phi: Array) -> Array:
        """The log of the powers of arguments."""
        theta, total = self.arguments(phi), jnp.zeros(phi.shape[:-1])
        for name, powers in self.tilts:
            logs = (jnp.log(theta[name]), jnp.log1p(-theta[name]) if len(powers) > 1 else 0.0)
            total += sum(power * log for power, log in zip(powers, logs, strict=False) if power)
        return total

    @property
    def support(self) -> constraints.Constraint:
        """Where x may lie."""
        return _support(self)

    @property
    def scale(self) -> str:
        """The map of its support, one of ``frames.SCALES``."""
        return str(scale_of(self.support))

    @property
    def title(self) -> str:
        """Its name."""
        return self.distribution if isinstance(self.distribution, str) else self.distribution.__name__


class Drawn(dist.Distribution):
    """One argument of several with a joint density: its draw is made with theirs, and the last has the density."""

    def __init__(
        self,
        support: constraints.Constraint,
        value: Array,
        spread: Callable[[], Array],
        joint: Callable[[dict[str, Array]], Array] | None,
        others: Mapping[str, Array],
        name: str,
    ) -> None:
        self.within, self.value, self.spread, self.joint, self.others, self.name = (
            support, value, spread, joint, others, name
        )  # fmt: skip
        super().__init__(batch_shape=jnp.shape(value), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        """That of the argument."""
        return self.within

    @property
    def variance(self) -> Array:
        """Of its coordinate."""
        return self.spread()

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Array:
        """The draw."""
        del key, sample_shape
        return self.value

    def log_prob(self, value: Array) -> Array:
        """The joint log density for the last argument, 0 for others."""
        return jnp.zeros(jnp.shape(value)) if self.joint is None else self.joint({**self.others, self.name: value})


def constructor(distribution: Any) -> Any:
    """NumPyro's distribution of this name, or the class itself."""
    return getattr(dist, distribution) if isinstance(distribution, str) else distribution


def read_arguments(distribution: Any, arguments: Mapping[str, Any], owner: str = "Likelihood") -> tuple[Density, Array]:
    """The density that a user describes, and the numbers of its priors, [H], [D, H] or [K, D, H].

    Raises:
        ValueError: for what is no distribution of one number with 1 to 3 unknown arguments and a support that is fixed.
    """
    distribution = getattr(dist, distribution, distribution) if isinstance(distribution, str) else distribution
    own = getattr(distribution, "__name__", None)
    name = own if getattr(dist, str(own), None) is distribution else distribution
    of_numpyro = inspect.isfunction(distribution) and name is own
    if not of_numpyro and not (inspect.isclass(distribution) and issubclass(distribution, dist.Distribution)):
        raise ValueError(
            f"{owner} takes a distribution of NumPyro itself, with what is known of its arguments: "
            f"nb.{owner}(dist.StudentT, df=4.0), got {distribution!r}"
        )
    title = str(own)
    read = {key: _read(title, key, value) for key, value in sorted(arguments.items())}
    density = Density(name, tuple((key, value) for key, (value, _) in read.items()))
    numbers = np.stack(np.broadcast_arrays(*[n for _, some in read.values() for n in some] or [np.zeros(0)]), axis=-1)
    strange = [key for key in arguments if key not in inspect.signature(constructor(name)).parameters]
    if strange:
        raise ValueError(f"{title} of NumPyro has no argument {strange[0]!r}")
    unknown = density.unknown
    if not 1 <= len(unknown) <= MOST_UNKNOWN:
        raise ValueError(
            f"{owner} integrates over 1 to {MOST_UNKNOWN} unknown arguments, and {title} has {len(unknown)}"
            f"{', ' * bool(unknown)}{', '.join(unknown)}: give numbers for some, as in df=4.0"
        )
    moving = f"the support of {title} moves with its arguments, so log p(x) is not smooth in them"
    if {"low", "high"} & {*unknown}:
        raise ValueError(f"{moving}: use nb.Histogram")
    try:
        supports = [_support(density, at) for at in (0.0, 0.7)]
    except (NotImplementedError, TypeError, ValueError) as error:
        raise ValueError(f"{title} is no distribution of one number that depends on numbers: {error!r}") from None
    ends = [[np.asarray(getattr(one, end, 0.0)).tolist() for end in ("lower_bound", "upper_bound")] for one in supports]
    if ends[0] != ends[1]:
        raise ValueError(f"{moving}: give a number for what the support depends on, or use nb.Histogram")
    if supports[0].event_dim or scale_of(supports[0]) is None:
        raise ValueError(
            f"{owner} knows columns of real numbers, positive ones, those in (0, 1), angles and counts; the support "
            f"of {title} is {supports[0]}: map the column, or use nb.Histogram"
        )
    return density, numbers[()] if density.priors else np.zeros(0)


def _read(title: str, name: str, value: Any) -> tuple[Any, list[Any]]:
    """A known argument as a number, or a prior as its distribution and changes; and a prior's numbers."""
    if isinstance(value, dist.Distribution):
        base: Any = value
        changes: list[Any] = []
        while type(base) in (dist.TransformedDistribution, ChangedDistribution, dist.ExpandedDistribution):
            changes = [*map(name_of, getattr(base, "transforms", ())), *changes]
            base = base.base_dist
        kind = type(base)
        names = [n for n in kind.arg_constraints if getattr(base, n, None) is not None]
        whole = not {*inspect.signature(kind).parameters} - {*names, "validate_args"}
        if (
            len(value.batch_shape) > 2
            or value.event_shape
            or value.support.is_discrete
            or not whole
            or getattr(dist, kind.__name__, None) is not kind
        ):
            raise ValueError(
                f"{title}: the prior of {name} must be a continuous distribution of NumPyro of one number, or of one "
                f"for each class and column, such as dist.LogNormal(0.0, 1.0), got {kind.__name__} of shape "
                f"{value.shape()}"
            )
        affine = [number for change in changes if not isinstance(change, str) for number in change]
        steps = tuple(change if isinstance(change, str) else "affine" for change in changes)
        numbers = [np.asarray(n, np.float64) for n in (*(getattr(base, n) for n in names), *affine)]
        return (kind.__name__, tuple(names), steps), numbers
    if isinstance(value, bool) or np.ndim(value) or not isinstance(value, int | float | np.number):
        raise ValueError(f"{title}: {name} must be a number or a NumPyro distribution, its prior, got {value!r}")
    if not np.isfinite(value):
        raise ValueError(f"{title}: {name} must be finite, got {value}")
    return float(value), []


@lru_cache(maxsize=256)
def _unknown(density: Density) -> dict[str, Any]:
    make = constructor(density.distribution)
    known = [name for name, value in density.given if not isinstance(value, tuple)]
    own: dict[str, Any] = {} if inspect.isfunction(make) else dict(make.arg_constraints)
    names = own or [name for name in inspect.signature(make).parameters if name != "validate_args"]
    either_of = {"probs", "logits"}  # two spellings of one argument
    spelled = next((name for name, _ in density.given if name in either_of), "probs")
    drop = either_of - {spelled} if either_of <= {*names} else set()
    free = [name for name in names if name not in known and name not in drop]
    return {name: own.get(name, OTHERS.get(name, constraints.positive)) for name in free}


@lru_cache(maxsize=256)
def _support(density: Density, at: float = 0.0) -> Any:
    """That of the distribution at phi = ``at``."""
    with jax.core.eval_context(), by_numpy():  # a support that is kept holds no tracers
        return density.make(density.arguments(np.full(len(density.unknown), at))).support
