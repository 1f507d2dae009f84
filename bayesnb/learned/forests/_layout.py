"""What a forest takes of a block: its columns of categories as parents, and each of its features as a child.

What a forest needs to know besides about some families are functions of a family, with a default.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from itertools import chain
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives._codes import Codes, starts_of
from bayesnb.core.families import Bernoulli, Categorical, Histogram, Likelihood, Mapped, Normal
from bayesnb.core.families._base import Family
from bayesnb.core.families._views import Views, of_generative
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma
from bayesnb.core.results._combine import table_sizes

Segments = tuple[tuple[int, ...], ...]
"""For each feature how many neighbouring categories each segment joins, () for one without categories."""


@singledispatch
def pseudo_counts(family: Any) -> Array:
    """The Dirichlet's concentration of the categories of all columns, [K, S]. Pure JAX."""
    raise ValueError(f"{type(family).__name__} has no categories")


pseudo_counts.register(Categorical, lambda family: family.concentration)
pseudo_counts.register(Bernoulli, lambda family: jnp.stack([family.b, family.a], axis=-1).reshape(len(family.a), -1))


@pseudo_counts.register(Histogram)
def _(family: Any) -> Array:
    concentration = family._prior.totals.mean(axis=0)[None, :, None] * family.mass[:1] + jnp.asarray(family.counts)
    return concentration.reshape(len(concentration), -1)


pseudo_counts.register(Views, of_generative(pseudo_counts))


@singledispatch
def find_codes(family: Any, x: Array) -> Any:
    """The cells as categories."""
    return Codes(x, starts_of(table_sizes(family, x.shape[1])), family.seen)


find_codes.register(Histogram, lambda family, x: family.codes(x))
find_codes.register(Views, of_generative(find_codes))


@singledispatch
def find_segments(family: Any, num_columns: int) -> Segments:
    """The segments of a posterior's columns: by default each category is one."""
    return tuple((1,) * size for size in category_sizes(family, num_columns))


find_segments.register(Histogram, lambda family, _num_columns: family.best_segments(limits.MOST_SEGMENTS))
find_segments.register(Views, of_generative(find_segments))


def segments_of(families: Mapping[str, Any], columns: Mapping[str, Any]) -> Segments:
    """The segments of all features of a posterior."""
    return tuple(chain.from_iterable(find_segments(family, columns[name]) for name, family in families.items()))


@singledispatch
def normal_prior(family: Any) -> NormalInverseGamma | None:
    """The prior of real columns whose pairs have a bivariate Normal; None for other families."""
    del family
    return None


normal_prior.register(Normal, lambda family: None if family.one_feature else family.prior)


def has_categories(family: Family) -> bool:
    """True if the columns of the block may be parents of any others."""
    return all(table_sizes(family, 1))


@singledispatch
def is_integrated(family: Any) -> bool:
    """True if predictions are integrals, which would be one for each label of a pair."""
    del family
    return False


is_integrated.register(Likelihood, lambda _: True)
is_integrated.register(Mapped, lambda family: is_integrated(family.parts[0]))


def category_sizes(family: Family, num_columns: int) -> tuple[int, ...]:
    """The number of categories of each feature of a block, 0 for one that has none."""
    return (0,) if family.one_feature else table_sizes(family, num_columns)


class Layout(NamedTuple):
    """The blocks in the order of tables: ``categories``, then ``reals`` with a bivariate Normal, then ``others``.

    ``features`` has the number of features of each block, in the order of the model.
    """

    categories: tuple[str, ...]
    reals: tuple[str, ...]
    others: tuple[str, ...]
    features: tuple[tuple[str, int], ...]

    @property
    def order(self) -> Array:
        """The features of the model in the order of tables, [F]."""
        ends = np.cumsum([size for _, size in self.features])
        places = {name: range(end - size, end) for (name, size), end in zip(self.features, ends, strict=True)}
        names = (*self.categories, *self.reals, *self.others)
        return np.array([*chain.from_iterable(places[name] for name in names)], int)

    def count(self, names: tuple[str, ...]) -> int:
        """The number of features of these blocks."""
        sizes = dict(self.features)
        return sum(sizes[name] for name in names)

    def joined(self, segments: Segments) -> Segments:
        """The segments of the I columns with categories."""
        return tuple(segments[feature] for feature in self.order[: self.count(self.categories)])


def lay_out(families: Mapping[str, Family], columns: Mapping[str, int | None]) -> Layout:
    """The layout of blocks with so many columns."""
    categories = tuple(name for name, family in families.items() if has_categories(family))
    rest = [name for name in families if name not in categories]
    reals = tuple(name for name in rest if normal_prior(families[name]) is not None)
    others = tuple(name for name in rest if name not in reals)
    features = tuple((b, 1 if family.one_feature else columns[b] or 0) for b, family in families.items())
    return Layout(categories, reals, others, features)


def find_places(layout: Layout, families: Mapping[str, Family], arrays: Mapping[str, Array]) -> Array:
    """The place of each cell among the S categories of all columns that have any, int32 [N, I]; S where missing."""
    found = [find_codes(families[name], arrays[name]) for name in layout.categories]
    sizes = [sum(table_sizes(families[name], arrays[name].shape[1])) for name in layout.categories]
    parts, total = [], sum(sizes)
    for codes, start in zip(found, starts_of(tuple(sizes)), strict=False):
        places, seen = codes.places()
        parts.append(places + start if seen is None else either.where(seen, places + start, total))
    if not parts:
        first = arrays[layout.features[0][0]]
        return either.zeros_like(first[:, :0], np.int32)
    return either.concatenate(parts, axis=1)


def join_places(places: Array, segments: Segments, some: Array | None = None) -> Array:
    """The places of segments from those of the categories that they join; of ``some`` of the columns alone, [I]."""
    sizes = np.array([*chain.from_iterable(segments), 1])
    own = np.ones(len(segments), bool) if some is None else some
    first = np.append(np.repeat(own, np.array([*map(len, segments)], int)), True)
    return either.take(np.repeat((np.cumsum(first) - 1).astype(np.int32), sizes), places[:, own])


def have_several(segments: Segments) -> Array:
    """True for columns of several segments, [I]: others, such as a histogram without cuts, have no edges."""
    return np.array([len(one) > 1 for one in segments], bool)
