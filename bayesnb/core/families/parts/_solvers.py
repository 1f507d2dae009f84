"""The problems of ``_lattice`` as primitives: numpy solves some units at a time, or JAX one by one.

On the host few units need a fine lattice, and bins without rows are left out. A compiled program chooses nothing, and
takes the finest for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from bayesnb.compute.arrays._compute import interpret
from bayesnb.compute.arrays._own_primitives import with_host_body
from bayesnb.compute.arrays._placement import Array
from bayesnb.core.families.parts._densities import Density
from bayesnb.core.families.parts._frames import ORDER, exact_nodes
from bayesnb.core.families.parts._lattice import (
    FEWEST_ROWS,
    LATTICES,
    find,
    integrate,
    log_integrand,
    maxima,
    pooled_prior,
)

NUMBERS = 1 << 22
"""As many numbers are in memory at once, of a few units."""


def by_numpy(function: Callable[..., Any], *given: Array, cost: int, **static: Any) -> tuple[Array, ...]:
    """A function of units, for as many at once as fit in memory; each takes ``cost`` numbers for each node."""
    given = (*occupied(given[0], given[1], exact_nodes(static["density"].scale)), *given[2:])
    step = max(NUMBERS // (cost * given[0].shape[1]), 1)
    parts = [
        interpret(function, *[a[start : start + step] for a in given], **static)
        for start in range(0, max(len(given[0]), 1), step)
    ]
    return tuple(np.concatenate(some) for some in zip(*parts, strict=True))


def occupied(weights: Array, nodes: Array, exact: int) -> tuple[Array, Array]:
    """The bins of units that have rows, and others to make their number a power of two; few rows have few."""
    table = weights[:, exact:].reshape(len(weights), -1, ORDER)
    empty = ~table.any(axis=2)
    room = 1 << int((~empty).sum(axis=1).max(initial=1) - 1).bit_length()
    some = np.argsort(empty, axis=1, kind="stable")[:, :room, None]
    parts = [
        np.concatenate(
            [a[:, :exact], np.take_along_axis(a[:, exact:].reshape(table.shape), some, 1).reshape(len(a), -1)], 1
        )
        for a in (weights, nodes)
    ]
    return parts[0], parts[1]


def by_jax(function: Callable[..., Any], *given: Array, **static: Any) -> tuple[Array, ...]:
    """A function of units, for one at a time."""
    found = jax.lax.map(lambda one: function(*[a[None] for a in one], **static), given)
    return tuple(part[:, 0] for part in found)


@dataclass(frozen=True)
class Given:
    """The arguments of a problem, equal if their digests are: a cache keeps these, and the ``arrays`` are taken out."""

    digests: tuple[bytes, ...]
    arrays: list[Array] = field(compare=False)


def level_by_level(*given: Array, density: Density, cost: tuple[int, ...]) -> tuple[Array, ...]:
    """``find`` by numpy; the last answers are kept, as a fit, its evidence, predictions and draws ask for the same."""
    digests = tuple(hashlib.blake2b(np.ascontiguousarray(a).tobytes()).digest() for a in given)
    return _find(Given(digests, [*given]), density, cost)


@lru_cache(maxsize=8)
def _find(key: Given, density: Density, cost: tuple[int, ...]) -> tuple[Array, ...]:
    """Higher levels for the units, with few rows, whose errors show on the lower ones."""
    given = [key.arrays.pop(0) for _ in key.digests]
    found = [part.copy() for part in by_numpy(find, *given, density=density, cost=cost[0])]
    for level, most in ((1, 1e-9), (2, 1e-6)):
        error, beyond, _ = found[4].T
        few = given[0].sum(axis=1) < FEWEST_ROWS
        again = np.flatnonzero(few | ~((error < 1e-6) & (beyond < most)))
        if len(again):
            some = [a[again] for a in (*given, *found[:2])]
            better = by_numpy(find, *some, density=density, level=level, cost=cost[level])
            for whole, part in zip(found, better, strict=True):
                whole[again] = part
    return tuple(found)


def on_own_lattice(*given: Array, density: Density, cost: tuple[int, ...]) -> tuple[Array]:
    """``integrate`` by numpy, on the lattice of each unit."""
    out = np.empty(given[8].shape)
    for level in range(3):
        own = np.flatnonzero(given[7] == level)
        if len(own):
            some = [a[own] for a in given]
            out[own] = by_numpy(integrate, *some, density=density, level=level, cost=cost[level])[0]
    return (out,)


def at_last_level(*given: Array, density: Density) -> tuple[Array, ...]:
    """``find`` by JAX: the last lattice for all units, since a compiled program does not choose."""
    first = find(*given, density=density)
    return find(*given, *first[:2], density=density, level=2)


@lru_cache(maxsize=256)
def solver(name: str, density: Density) -> Callable[..., tuple[Array, ...]]:
    """One of the problems as a primitive; its arguments may have any axes in front of those of a unit."""
    size = len(density.unknown)
    cost = tuple((2 * most + 1) ** size for _, most in LATTICES[size])
    own = {"density": density}
    host, device, answers = {
        "mle": (partial(by_numpy, maxima, of="likelihood", cost=64), partial(maxima, of="likelihood"), ["q"]),
        "map": (partial(by_numpy, maxima, of="posterior", cost=64), partial(maxima, of="posterior"), ["q"]),
        "prior": (partial(by_numpy, pooled_prior, cost=64), pooled_prior, ["q", "q"]),
        "find": (partial(level_by_level, cost=cost), at_last_level, ["q", "qq", "", "", "3"]),
        "integrate": (partial(on_own_lattice, cost=cost), partial(integrate, level=2), ["n"]),
        "draw": (partial(by_numpy, log_integrand, cost=cost[0]), log_integrand, ["g"]),
    }[name]
    axes = [1, 1, 1, 1, 1, 1, 2, 0, 1, 1]  # of a unit, for each argument

    def run(body: Callable[..., Any], *given: Array) -> tuple[Array, ...]:
        front = given[0].shape[:-1]
        if 0 in front:
            return tuple(np.zeros(shape, given[0].dtype) for shape in shapes(*(a.shape for a in given)))
        flat = [a.reshape(int(np.prod(front)), *a.shape[a.ndim - k :]) for a, k in zip(given, axes, strict=False)]
        return tuple(part.reshape(*front, *part.shape[1:]) for part in body(*flat, **own))

    def shapes(*given: tuple[int, ...]) -> list[tuple[int, ...]]:
        sizes = {"q": size, "3": 3, "g": cost[0], "n": given[8][-1] if len(given) > 8 else 0}
        return [(*given[0][:-1], *(sizes[letter] for letter in letters)) for letters in answers]

    def primitive(*given: Array) -> tuple[Array, ...]:
        return run(partial(by_jax, device), *given)

    primitive.__name__ = f"{name} {density}"
    return with_host_body(partial(run, host), shapes)(primitive)
