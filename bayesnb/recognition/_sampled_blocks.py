"""Blocks of unknown likelihoods that no integral over one class and column answers: classes or columns share latents.

Such blocks, and whatever depends on the same latents, are left to a sampler as a whole. Their prior is the program
itself, which is run for its latents and for the parameters that it makes of them, whatever their form.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers

from bayesnb.compute.arrays._placement import Array, allow_promotion
from bayesnb.recognition._class_parameters import Labels, same
from bayesnb.recognition._observed_blocks import Block
from bayesnb.recognition._points import Points, read_cells
from bayesnb.recognition._user_program import NotNaiveBayes, given, join_missing_cells, value_inside


class Left:
    """The ``sites`` that are left to a sampler, by groups of what depends on each other."""

    def __init__(self, labels: Labels, points: Points, num_classes: int, keys: Any) -> None:
        self.labels, self.points, self.num_classes, self.keys = labels, points, num_classes, keys
        self.sites: frozenset[str] = frozenset()

    def take(self, site: str, blocks: Iterable[Block]) -> bool:
        """Whether this site is in a new group with an unknown likelihood and all others of one number, now left."""
        group: set[str] = next((one for one in self.groups if site in one), set())
        own = [block for block in blocks if block.site in group]
        taken = {self.labels.program.label, *self.sites} & group
        if taken or not any(b.reading.unknown for b in own) or any(b.reading.integrated() is None for b in own):
            return False
        self.sites |= group
        return True

    @cached_property
    def groups(self) -> list[set[str]]:
        """Each latent with what depends on it, priors and parameters; one after another is moved."""
        values = {name: latent.values for name, latent in self.points.latents.items()}
        y, before = np.arange(self.labels.num_rows) % self.num_classes, self._numbers(self.points)
        groups: list[set[str]] = []
        for name, value in values.items():
            after = self._numbers(self.labels.evaluate(y, self.keys, values | {name: np.roll(value, 1, axis=0)}))
            group = {name} | {site for site, of in before.items() if site != name and not _alike(of, after[site])}
            groups, touched = [g for g in groups if not g & group], [g for g in groups if g & group]
            groups.append(group.union(*touched))
        return groups

    def _numbers(self, points: Points) -> dict[str, list[Any]]:
        """What depends on latents, by site: the density of a latent, parameters of cells, class probabilities."""
        cells = {site: [*observed.params.values()] for site, observed in points.observed.items()}
        probs = {} if points.label is None else {self.labels.program.label: [points.label]}
        return {name: [latent.log_prob] for name, latent in points.latents.items()} | cells | probs

    @property
    def others(self) -> Points:
        """The points without the latents that are left."""
        return replace(self.points, latents={n: v for n, v in self.points.latents.items() if n not in self.sites})

    def without_parameters(self, block: Block) -> Block:
        """The block; without parameters of its own if it is left: a sampler has all that are not one known number."""
        if block.site not in self.sites:
            return block
        known = {short: values for short, values in block.known.items() if (values == values.flat[0]).all()}
        rest = {short: values[None] for short, values in block.known.items() if short not in known}
        rest |= {short: values.values for short, values in block.params.items()}
        for short, values in rest.items():
            own = self.points.latents.get(block.canonical(short))
            if own is not None and not (own.values.shape == values.shape and same(own.values, values).all()):
                raise NotNaiveBayes(
                    f"site {block.canonical(short)!r} has the name of the {short} of {block.site!r} by class and "
                    "column, and is something else: give it another name"
                )
        return replace(block, params={}, known=known, sampled=tuple(rest))

    def prior(self, blocks: Iterable[Block]) -> ProgramPrior | None:
        """The prior of these blocks' parameters; None if nothing is left."""
        return ProgramPrior(self, [block for block in blocks if block.sampled]) if self.sites else None


def _alike(one: list[Any], other: list[Any]) -> bool:
    return all(same(a, b).all() for a, b in zip(one, other, strict=True))


def _in_own_precision(leaf: Any) -> Any:
    """An array with a type that JAX has now."""
    if not isinstance(leaf, np.ndarray | jax.Array) or not np.issubdtype(leaf.dtype, np.number):
        return leaf
    return jnp.asarray(np.asarray(leaf).astype(jax.dtypes.canonicalize_dtype(leaf.dtype)))


class _held(given):
    """``given``, of a program that was recognised: factors come from a sampler's change of variables."""

    def process_message(self, msg: dict[str, Any]) -> None:
        """Set the value of a sample site."""
        if not isinstance(msg.get("fn"), dist.Unit):
            super().process_message(msg)


class ProgramPrior:
    """The prior of the parameters of blocks: a program of some ``latents``, of which the others are held."""

    def __init__(self, left: Left, blocks: list[Block]) -> None:
        labels, num_classes = left.labels, left.num_classes
        y = np.arange(labels.num_rows) % num_classes
        self.program, self.label = labels.program_with(y), labels.of_site(y)
        self.latents, self.num_classes = left.sites & {*left.points.latents}, num_classes
        self.sites = {block.canonical(short): (block, short) for block in blocks for short in block.sampled}
        if labels.num_rows < num_classes:
            raise NotNaiveBayes(f"there are {num_classes} classes and {labels.num_rows} rows: give a row of each class")

    def __call__(self) -> dict[str, Array]:
        """Inside a NumPyro program: sample the latents, and give the parameters [K, D] by the model's own sites."""

        def hold(name: str, prior: Any, key: Any, shape: tuple[int, ...]) -> Any:
            del key
            return None if name in self.latents else value_inside(prior, shape)

        def hidden(site: dict[str, Any]) -> bool:
            return site.get("name") not in self.latents and not isinstance(site.get("fn"), dist.Unit)

        program, label = self.program.map(_in_own_precision), jax.tree.map(_in_own_precision, self.label)
        fn = _held(program.fn, label, jax.random.key(0), hold)
        with allow_promotion(), handlers.block(hide_fn=hidden), handlers.trace() as trace:
            fn(*program.args, **program.kwargs)
        cells = {n: s for n, s in join_missing_cells(trace, self.program.label).items() if s["type"] == "sample"}
        found = {name: self._table(cells[block.site], block, short) for name, (block, short) in self.sites.items()}
        return {n: value if n in self.latents else numpyro.deterministic(n, value) for n, value in found.items()}

    def _table(self, site: dict[str, Any], block: Block, short: str) -> Array:
        found = read_cells(block.site, site)
        return found.reading.arguments(found.params)[short][: self.num_classes].reshape(self.num_classes, -1)
