"""Which element of the program's latents is which parameter, through which link: by comparing numbers at P points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from bayesnb.model.links import LINKS, Part, Positions
from bayesnb.model.spelling import Site
from bayesnb.recognition.classes import same


class Values(NamedTuple):
    """A site's values at P points, [P, *shape], of which the last ``event`` axes are one draw."""

    values: Any
    event: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape at one point."""
        return tuple(self.values.shape[1:])

    @property
    def unit(self) -> int:
        """The number of elements of one draw."""
        return int(np.prod(self.shape[len(self.shape) - self.event :]))


def find_parts(target: Values, sources: Mapping[str, Values], *, inverse: bool) -> tuple[tuple[Part, ...], Any]:
    """The parts of the target that are elements of the sources through a link, and which elements none gives.

    What is no element itself may be one times a known constant, plus another.
    """
    flat = target.values.reshape(len(target.values), -1)
    missing = np.ones(flat.shape[1], bool)
    parts: list[Part] = []
    for affine, (name, link), (source, given) in product((False, True), LINKS.items(), sources.items()):
        if not missing.any():
            break
        events = (target.event, given.event)
        if (link.matrix and (affine or events != (2, 2))) or (affine and all(events)):
            continue
        wanted, offered = flat, np.asarray(given.values, np.float64)
        offered = offered if link.matrix else offered.reshape(len(offered), -1)
        with np.errstate(all="ignore"):
            if affine and not inverse:
                wanted = link.inverse(wanted)
            else:
                offered = np.asarray((link.inverse if inverse else link.forward)(offered)).reshape(len(offered), -1)
            at, found = _match(*map(_without_constants, (wanted, offered))) if affine else _match(wanted, offered)
        found &= missing
        if found.any():
            placed = np.flatnonzero(found)
            pair = wanted[:, placed], offered[:, at[placed]]
            constants = _constants(*pair[:: 1 if inverse else -1]) if affine else ()
            size = given.shape[-1] if link.matrix else 1
            parts.append(Part(source, name, Positions(at[placed]), Positions(placed), size, *constants))
            missing &= ~found
    return tuple(parts), missing


def _without_constants(values: Any) -> Any:
    """Numbers [P + 1, T], the same for columns of which one is the other times a constant, plus another."""
    values = values - values.mean(axis=0)
    values = values / np.take_along_axis(values, np.abs(values).argmax(axis=0)[None], axis=0)
    # a number may be 1 in many columns, their sum with other weights is not
    return 100.0 + np.concatenate([np.cos(np.arange(1.0, len(values) + 1.0))[None] @ values, values])


def _constants(latents: Any, numbers: Any) -> Any:
    """The shift and the scale, of each column or one for all, with numbers = shift + scale * latents."""
    centred = latents - latents.mean(axis=0)
    scale = (centred * numbers).sum(axis=0) / np.square(centred).sum(axis=0)
    shift = numbers.mean(axis=0) - scale * latents.mean(axis=0)
    shift = np.where(np.abs(shift) <= 1e-12 * np.abs(numbers).max(axis=0), 0.0, shift)
    # to 14 digits, so that decimals are what the program has written
    pairs = [tuple(float(f"{number:.14g}") for number in pair) for pair in zip(shift, scale, strict=True)]
    return zip(*(pairs[:1] if len({*pairs}) == 1 else pairs), strict=True)


def _match(targets: Any, sources: Any) -> tuple[Any, Any]:
    """For each target [P, T] the position of the source [P, S] with the same values, and whether there is one."""
    order = np.argsort(sources[0])
    place = np.searchsorted(sources[0][order], targets[0])
    best, found = np.zeros(targets.shape[1], int), np.zeros(targets.shape[1], bool)
    for step in (0, -1, 1):
        at = order[np.clip(place + step, 0, sources.shape[1] - 1)]
        equal = same(targets, sources[:, at]).all(axis=0) & ~found
        best[equal] = at[equal]
        found |= equal
    return best, found


def site_of(name: str, target: Values, parts: tuple[Part, ...], constraint: str = "real") -> Site:
    """The target as a site made of its parts."""
    return Site(name, target.shape, parts, target.event, constraint)
