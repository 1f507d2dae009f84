"""Which element of the program's latents is which parameter, through which link: by comparing numbers at P points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayesnb.model.links import LINKS
from bayesnb.model.spelling import Part, Positions, Site
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
    """The parts of the target that are elements of the sources through a link, and which elements none gives."""
    flat = target.values.reshape(len(target.values), -1)
    missing = np.ones(flat.shape[1], bool)
    parts: list[Part] = []
    for name, link in LINKS.items():
        for source, given in sources.items():
            if not missing.any():
                break
            if link.matrix and not (target.event == given.event == 2):
                continue
            size = given.shape[-1] if link.matrix else 1
            through = link.inverse if inverse else link.forward
            values = given.values
            if not link.matrix:
                values = values.reshape(len(values), -1)
            with np.errstate(all="ignore"):
                candidates = np.asarray(through(np.asarray(values, np.float64))).reshape(len(values), -1)
            at, found = _match(flat, candidates)
            found &= missing
            if found.any():
                placed = np.flatnonzero(found)
                parts.append(Part(source, name, Positions(at[placed]), Positions(placed), size))
                missing &= ~found
    return tuple(parts), missing


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
