"""What pseudo-rows can do to the predictive of a cell: a prior of t more rows, whose content is free.

A cell in category g has, after t pseudo-rows of its class, of which a share lies in g,

    p(g) = sum_a (found_a + share_a t) / (total_a + t)

with one term for Bernoulli and Categorical, the count over the sum of counts, pseudo-counts of the prior included; the
share is 1 at most and 0 at least. A Histogram has a term for each total of its prior: an average over cuts, which keep
their posterior. There the share of a row in another bin is not 0 where no cut divides the two.

With ``vacuous`` statistics the counts are those of the rows alone, so that the pseudo-rows take the place of the prior:
the imprecise Dirichlet model. Walley, Inferences from multinomial data: learning about a bag of marbles (1996).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from bayesnb.compute.arrays._placement import Array
from bayesnb.compute.primitives._codes import Codes, starts_of
from bayesnb.core.families import Bernoulli, Categorical, Histogram
from bayesnb.core.families._categorical import EndToEnd, LookupFamily
from bayesnb.core.families._views import Views
from bayesnb.core.families.priors import _segments as segments
from bayesnb.core.model._naive_bayes import NaiveBayes


class PseudoCounts(NamedTuple):
    """Counts by category, columns end to end: ``found`` and ``total`` [A, K, S]; ``most`` and ``least`` [A, 1, S] are
    the shares of a pseudo-row that adds most to the category, and least. A terms are added.
    """

    found: Array
    total: Array
    most: Array
    least: Array

    def probs(self, pseudo_rows: Array | float) -> tuple[Array, Array]:
        """The least and the largest probability of each category with so many pseudo-rows, [K, S]. Pure JAX."""
        low, high = (share_of(self, share, pseudo_rows).sum(axis=0) for share in (self.least, self.most))
        return low, high


def share_of(counts: Any, share: Array, pseudo_rows: Array | float) -> Array:
    """(found + share t) / (total + t), term by term; 0 of nothing is 0."""
    total = counts.total + pseudo_rows
    return (counts.found + share * pseudo_rows) / jnp.where(total > 0, total, 1.0)


@singledispatch
def pseudo_counts(family: Any, vacuous: Any = None) -> PseudoCounts:
    """The counts behind a posterior's predictive, or those of the ``vacuous`` statistics. Pure JAX."""
    raise ValueError(f"{type(family).__name__} has no counts of categories, got statistics {vacuous}")


pseudo_counts.register(Views, pseudo_counts.dispatch(object))  # a cell's views depend on each other


def require_categories(model: NaiveBayes) -> None:
    """ValueError for a model with columns that are no categories."""
    for block, family in model.families.items():
        if pseudo_counts.dispatch(type(family)) is pseudo_counts.dispatch(object):
            raise ValueError(
                f"block {block!r}: what more rows of any content would do is known for tables of categories, "
                f"Bernoulli, Categorical and Histogram blocks, got {type(family).__name__}: nb.prior_sensitivity says "
                "whether the prior matters"
            )


@pseudo_counts.register(Bernoulli)
def _(family: Any, vacuous: Any = None) -> PseudoCounts:
    ones, zeros = (family.a, family.b) if vacuous is None else (vacuous.successes, vacuous.trials - vacuous.successes)
    counts = jnp.stack([zeros, ones], axis=-1)
    return _of_counts(counts.reshape(len(counts), -1), (2,) * counts.shape[1])


@pseudo_counts.register(Categorical)
def _(family: Any, vacuous: Any = None) -> PseudoCounts:
    return _of_counts(family.concentration if vacuous is None else vacuous.counts, family.sizes_of(family.num_columns))


@pseudo_counts.register(Histogram)
def _(family: Any, vacuous: Any = None) -> PseudoCounts:
    prior = family._prior
    bins = prior.mass > 0
    if vacuous is not None:
        own = _of_counts(vacuous.counts.reshape(len(vacuous.counts), -1), (family.cells,) * len(bins))
        return own._replace(least=jnp.where(bins.sum(axis=1, keepdims=True) > 1, 0.0, bins).reshape(own.least.shape))
    share, mass = segments.average(prior).share, prior.segments()[None]
    last = jnp.where(bins, jnp.arange(family.cells)[None], 0).max(axis=1)
    # segments from bin i to j that contain the first bin, and the last
    to_first = jnp.broadcast_to((jnp.arange(family.cells) == 0)[None, :, None], mass.shape[1:])
    to_last = jnp.broadcast_to((jnp.arange(family.cells)[None] >= last[:, None])[:, None], mass.shape[1:])

    def average(of_segments: Array) -> Array:
        return (prior.mass[None] * segments.cover(share * of_segments / mass)).reshape(len(share), 1, -1)

    def found(counts: Array) -> Array:
        return average(prior.total * mass + segments.segment_sums(counts)[None])[:, 0]

    counts = jnp.asarray(prior.counts, share.dtype)
    total = prior.totals[:, None] + counts.sum(axis=-1)[None]
    ends = [average(jnp.where(end[None], 1.0, 0.0)) for end in (to_first, to_last)]
    return PseudoCounts(
        found=jnp.moveaxis(jax.lax.map(found, counts), 0, 1),
        total=jnp.repeat(total, family.cells, axis=2),
        most=average(jnp.ones_like(mass)),
        least=jnp.minimum(*ends),
    )


@singledispatch
def codes_of(family: Any, x: Array) -> Codes:
    """The cells of rows as places in a table of all columns' categories."""
    return Codes(x, starts_of(family.category_sizes(x.shape[1])), family.seen)


codes_of.register(LookupFamily, lambda family, x: family.codes(x))


def _of_counts(counts: Array, sizes: tuple[int, ...]) -> PseudoCounts:
    """One Dirichlet a column; a column of one category has no other."""
    columns = EndToEnd(sizes)
    one, counts = jnp.ones((1, 1, counts.shape[1])), jnp.asarray(counts, jnp.result_type(float))
    alone = columns.at_entries(jnp.asarray([[1.0 * (size == 1) for size in sizes]])).reshape(one.shape)
    return PseudoCounts(counts[None], columns.total(counts)[None], one, alone)
