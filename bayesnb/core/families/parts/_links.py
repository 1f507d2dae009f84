"""The fixed list of functions by which a program's latent enters as a parameter: a precision as a variance, and so on.

    parameter = forward(latent),    log |d parameter / d latent| = sum of powers times the parameter's logs

The logs are log c, and for a probability log (1 - c), or log |det| of a matrix: a change of variables only tilts the
conjugate prior, so modes and densities of the latents have closed forms too. A ``Part`` is elements of another site
that enter through one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array


class Link(NamedTuple):
    """``forward`` and ``inverse`` between a latent and a parameter, elementwise or of matrices; both take arrays."""

    forward: Callable[[Array], Array]
    inverse: Callable[[Array], Array]
    powers: tuple[float, ...] = (0.0, 0.0)
    constant: float = 1.0
    """|d parameter / d latent| is this constant times the powers of the parameter."""
    transform: Any = transforms.IdentityTransform()
    """The same function as NumPyro's transform."""
    matrix: bool = False


def _logit(p: Array) -> Array:
    return either.log(p) - either.log1p(-p)


MINUS, EXP, EXPIT = transforms.AffineTransform(0.0, -1.0), transforms.ExpTransform(), transforms.SigmoidTransform()
ONE_MINUS = transforms.AffineTransform(1.0, -1.0, constraints.unit_interval)
DOUBLE_EXP = transforms.ComposeTransform([transforms.AffineTransform(0.0, 2.0), EXP])

LINKS: dict[str, Link] = {
    "identity": Link(lambda t: t, lambda c: c),
    "one minus": Link(lambda t: 1.0 - t, lambda c: 1.0 - c, transform=ONE_MINUS),
    "expit": Link(either.sigmoid, _logit, (1.0, 1.0), transform=EXPIT),
    "expit of minus": Link(
        lambda t: either.sigmoid(-t),
        lambda c: -_logit(c),
        (1.0, 1.0),
        transform=transforms.ComposeTransform([MINUS, EXPIT]),
    ),
    "odds": Link(
        lambda t: t / (1.0 + t),
        lambda c: c / (1.0 - c),
        (0.0, 2.0),
        transform=transforms.ComposeTransform([EXP.inv, EXPIT]),
    ),
    "exp": Link(either.exp, either.log, (1.0,), transform=EXP),
    "exp of minus": Link(
        lambda t: either.exp(-t),
        lambda c: -either.log(c),
        (1.0,),
        transform=transforms.ComposeTransform([MINUS, EXP]),
    ),
    "exp of double": Link(lambda t: either.exp(2.0 * t), lambda c: 0.5 * either.log(c), (1.0,), 2.0, DOUBLE_EXP),
    "square": Link(lambda t: t * t, either.sqrt, (0.5,), 2.0, transforms.PowerTransform(2.0)),
    "root": Link(either.sqrt, lambda c: c * c, (-1.0,), 0.5, transforms.PowerTransform(0.5)),
    "reciprocal": Link(lambda t: 1.0 / t, lambda c: 1.0 / c, (2.0,), 1.0, transforms.PowerTransform(-1.0)),
    "reciprocal square": Link(lambda t: t**-2, lambda c: c**-0.5, (1.5,), 2.0, transforms.PowerTransform(-2.0)),
    "reciprocal root": Link(lambda t: t**-0.5, lambda c: c**-2, (3.0,), 0.5, transforms.PowerTransform(-0.5)),
    "minus": Link(lambda t: -t, lambda c: -c, transform=MINUS),
    "inverse matrix": Link(either.inverse, either.inverse, (1.0,), matrix=True),
}
"""By name; files store the names."""


def log_slope(link: Link, terms: tuple[Array, ...], size: int = 1) -> Array | float:
    """log |d parameter / d latent|, from the logs of the parameter; ``size`` is that of a matrix."""
    powers = matrix_powers(link, size) if link.matrix else link.powers
    return sum((p * term for p, term in zip(powers, terms, strict=False) if p), 0.0) + float(np.log(link.constant))


def matrix_powers(link: Link, size: int) -> tuple[float, ...]:
    """The powers for a symmetric matrix of this size: |d inv(t)| = |det t|^-(size + 1)."""
    return tuple(p * (size + 1.0) for p in link.powers) if link.matrix else link.powers


TRANSFORMS = {name: link.transform for name, link in LINKS.items()} | {"stick": transforms.StickBreakingTransform()}
"""The changes of priors, by the names that files store."""


def name_of(transform: Any) -> Any:
    """The name of a change, or its shift and scale. ValueError for any that is in no list."""
    for name, known in TRANSFORMS.items():
        if transform == known:
            return name
    if type(transform) is transforms.AffineTransform:
        return transform.loc, transform.scale
    kind = type(transform).__name__
    raise ValueError(f"a distribution is transformed by {kind}; allowed: {', '.join(LINKS)}")


class ChangedDistribution(dist.TransformedDistribution):
    """The distribution of a parameter that is a monotone function of a number: its support is what the number reaches.

    NumPyro's own has all values of the last transform as its support: a sampler would leave that of the number. It is
    given where it is the same whatever the distribution's own numbers.
    """

    pytree_data_fields = ("_support",)

    def __init__(
        self, distribution: dist.Distribution, changes: Any, support: Any = None, *, validate_args: bool | None = None
    ) -> None:
        super().__init__(distribution, changes, validate_args=validate_args)
        self._support = support or _image(self.base_dist.support, self.transforms)

    @property
    def support(self) -> Any:
        """The image of the number's support."""
        return self._support


def _image(support: Any, changes: list[Any]) -> Any:
    if support == changes[0].domain:
        return changes[-1].codomain
    with jax.enable_x64(True):
        ends = [getattr(support, "lower_bound", -jnp.inf), getattr(support, "upper_bound", jnp.inf)]
        for change in changes:
            ends = [change(jnp.asarray(end, float)) for end in ends]
        low, high = np.minimum(ends[0], ends[1]), np.maximum(ends[0], ends[1])
    return between(low, high) or changes[-1].codomain


def between(low: Any, high: Any) -> Any:
    """The support between two ends, arrays of which one may be infinite; None if both are."""
    match bool(np.isfinite(low).all()), bool(np.isfinite(high).all()):
        case True, True:
            return constraints.interval(low, high)
        case True, False:
            return constraints.greater_than(low)
        case False, True:
            return constraints.less_than(high)
    return None


class Positions:
    """Integers that can be hashed, as the structure of a pytree must be."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, np.int32).ravel()
        self.all_in_order = bool((self.values == np.arange(len(self.values))).all())
        self._hash = hash(self.values.tobytes())

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Positions) and np.array_equal(self.values, other.values))

    def __repr__(self) -> str:
        return f"Positions({len(self.values)})"

    def of(self, flat: Array) -> Array:
        """These positions on the last axis."""
        return flat if self.all_in_order and flat.shape[-1] == len(self.values) else flat[..., self.values]


class Part(NamedTuple):
    """Elements of one source through one link; ``placed`` are their positions in the target."""

    source: str
    link: str
    taken: Positions
    placed: Positions
    size: int = 1
    """The size of the matrices to which the link applies, else 1."""
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    """parameter = link(shift + scale * latent), one number for each element or for all; () if there are no such."""

    def through(self, flat: Array, *, inverse: bool) -> Array:
        """Elements through the link, from latents to parameters or the other way."""
        link = LINKS[self.link]
        if self.size > 1:
            matrices = flat.reshape(*flat.shape[:-1], -1, self.size, self.size)
            return (link.inverse if inverse else link.forward)(matrices).reshape(flat.shape)
        if not self.scale:
            return (link.inverse if inverse else link.forward)(flat)
        axes = [1] * (flat.ndim - 1)
        shift, scale = (np.reshape(c, (*axes, -1)).astype(flat.dtype) for c in (self.shift, self.scale))
        return (link.inverse(flat) - shift) / scale if inverse else link.forward(shift + scale * flat)

    def __str__(self) -> str:
        return f"{self.link} of site {self.source!r}" + ", scaled and shifted by known numbers" * bool(self.scale)

    def is_sound(self) -> bool:
        """Whether the link is a known one, and the constants fit it."""
        fits = len(self.shift) == len(self.scale) and len(self.scale) in (0, 1, len(self.taken.values))
        return self.link in LINKS and fits and bool(np.isfinite([*self.shift, *self.scale]).all()) and all(self.scale)
