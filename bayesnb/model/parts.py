"""The parts of which a site of a program is made: elements of another site, through a link."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.model.links import LINKS


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
