"""The evidence that a feature depends on another within the classes, for all pairs, by the families' own functions.

    log prod_k M_k(x_j | x_i) / M_k(x_j),  over the rows of class k in which both cells are observed

Given categories, a class is any label: M_k(x_j | x_i) is the product over c of the evidence that the family of j has
under the label (k, c), and M_k(x_j) that under k in the rows where column i is seen. The prior of (k, c) is the child's
own of class k. A Dirichlet is scaled by the parent's E[theta_ic]: columns with as many pseudo-rows then have a joint
Dirichlet, as BDeu has, and both directions of the edge the same evidence: Heckerman, Geiger and Chickering, Learning
Bayesian networks (1995). Normals given a Normal column: ``bivariate_normal``. Other edges have no closed form, and do
not occur: Lauritzen and Wermuth, Graphical models for associations between variables, some of which are qualitative
(1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import singledispatch
from itertools import chain
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute, interpret
from bayesnb.compute.arrays._placement import Array, Node, pytree
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics._stable import NEVER
from bayesnb.core.families import FAMILIES
from bayesnb.core.families._base import Family
from bayesnb.core.families._categorical import CategoricalStatistics, EndToEnd
from bayesnb.core.families.priors._normal_inverse_gamma import NormalInverseGamma
from bayesnb.learned.forests import _bivariate_normal as bivariate_normal
from bayesnb.learned.forests._bivariate_normal import Moments
from bayesnb.learned.forests._layout import Layout, Segments, have_several, normal_prior, pseudo_counts
from bayesnb.learned.forests._pairs import PairStatistics, join_segments, merge_labels


class LabelAxis(NamedTuple):
    """An axis of the labels of class k, in its three parts, end to end.

    ``parents`` are the labels (k, c) of categories of parents, ``given_seen`` k in the rows where each of the I parents
    is seen, and ``alone`` k in all rows.
    """

    parents: Array
    given_seen: Array
    alone: Array

    @classmethod
    def cut(cls, table: Array, num_parents: int, axis: int = 1) -> LabelAxis:
        """The parts of this axis of a table."""
        at, first = (slice(None),) * axis, -1 - num_parents
        return cls(table[(*at, slice(first))], table[(*at, slice(first, -1))], table[(*at, slice(-1, None))])


class Child(NamedTuple):
    """A block of features as children: their prior and their statistics under each label.

    Each class has a ``LabelAxis`` of the S categories of all parents: L = S + I + 1 of them, and K L in all.
    """

    prior: Any
    statistics: Any


@pytree
class Parts(Node):
    """The ``children``, those with categories first; the prior and the moments of Normal columns; and the number of
    categories of each of the I parents.
    """

    children: tuple[Child, ...]
    prior: NormalInverseGamma
    moments: Moments
    sizes: tuple[int, ...] = field(metadata={"static": True})

    @property
    def num_classes(self) -> int:
        """K."""
        return self.prior.loc.shape[0]

    @property
    def num_labels(self) -> int:
        """L."""
        return sum(self.sizes) + len(self.sizes) + 1


def prepare_parts(
    families: Mapping[str, Family],
    blocks: Mapping[str, Any],
    pairs: PairStatistics,
    layout: Layout,
    segments: Segments,
) -> Parts:
    """The priors of all labels and their statistics, of segments instead of categories.

    A column of one segment, such as a histogram's without cuts, is left out: its edges would be other words for none.
    ``blocks`` are the model's own statistics.
    """
    pairs = join_segments(pairs, segments)
    sizes, size, num_classes = pairs.categories.sizes, pairs.num_labels, pairs.num_classes
    nothing, labels = pairs.reals.count.sum(axis=2)[:, :0], np.repeat(np.arange(num_classes), size + len(sizes) + 1)

    def join(*tables: Array) -> Array:
        """The labels of each class end to end."""
        of_class = [a.reshape(num_classes, len(a) // num_classes, *a.shape[1:]) for a in tables]
        return either.concatenate(of_class, axis=1).reshape(sum(map(len, tables)), *tables[0].shape[1:])

    def child(family: Any, alone: Any, labelled: Any) -> Child:
        same = merge_labels(labelled, sizes * num_classes)
        return Child(take_labels(family, labels), jax.tree.map(join, labelled, same, alone))

    children = []
    if sizes:
        own = [interpret(pseudo_counts, families[name]) for name in layout.categories]
        concentration = EndToEnd(tuple(chain.from_iterable(segments))).of_columns(either.concatenate(own, axis=1))
        some = np.repeat(have_several(segments), [*map(len, segments)])
        concentration = concentration[:, np.flatnonzero(some)]
        shares = dirichlet.dirichlet_mean(concentration, EndToEnd(sizes).total)
        shares = either.pad(shares, [(0, 0), (0, len(sizes) + 1)], constant_values=1.0)
        counts = pairs.categories.counts.reshape(num_classes, size, size)
        alone = CategoricalStatistics(either.diagonal(counts, axis1=1, axis2=2), sizes)
        family = FAMILIES["categorical"](sizes)._replace(concentration=concentration)
        prior, statistics = child(family, alone, pairs.categories)
        prior = prior._replace(concentration=prior.concentration * shares.reshape(-1, 1))
        children.append(Child(prior, statistics))
    for name in (*layout.reals, *layout.others):
        labelled = pairs.blocks.get(name, blocks[name].spread_classes(np.zeros(0, int)))
        children.append(child(families[name], blocks[name], labelled))
    priors: list[Any] = [normal_prior(families[name]) for name in layout.reals]
    prior = NormalInverseGamma(*(either.concatenate([nothing, *(one[i] for one in priors)], axis=1) for i in range(4)))
    count, mean, squares, product = (getattr(pairs.reals, name) for name, _ in pairs.reals.axes)
    moments = Moments(count, mean, mean.swapaxes(1, 2), squares, squares.swapaxes(1, 2), product)
    return Parts(tuple(children), prior, moments, sizes)


def take_labels(tables: Any, labels: Array) -> Any:
    """A prior, statistics or tables with these labels; a number is that of all labels. Pure JAX."""
    return jax.tree.map(lambda a: either.take(a, labels, axis=0) if np.ndim(a) else a, tables)


def log_evidence_ratios(parts: Parts) -> Array:
    """The log of that ratio [F, F], parents first, in the order of tables; ``NEVER`` where no dependence can be."""
    sizes = parts.sizes

    def edges(child: Child) -> Array:
        """[I, F]."""
        ratio = log_partition_ratio(child.prior, child.statistics)
        ratio = ratio.reshape(parts.num_classes, parts.num_labels, ratio.shape[1]).sum(axis=0)
        of = LabelAxis.cut(ratio, len(sizes), axis=0)
        return EndToEnd(sizes).of_columns(of.parents.T).T - of.given_seen

    real = compute(bivariate_normal.log_bayes_factor, parts.prior, parts.moments).sum(axis=0)
    ratios = assemble([edges(child) for child in parts.children], real, NEVER)
    return either.where(np.eye(len(ratios), dtype=bool), NEVER, ratios)


@singledispatch
def log_partition_ratio(prior: Any, statistics: Any) -> Array:
    """The log partition of a posterior minus that of its prior."""
    return compute(_log_partition_ratio, prior, statistics)


# without a trace, as each fit has another number of segments
log_partition_ratio.register(FAMILIES["categorical"], lambda prior, statistics: prior.log_partition_ratio(statistics))
_log_partition_ratio = jax.jit(lambda prior, statistics: prior.log_partition_ratio(statistics))


def assemble(given_categories: list[Array], given_real: Array, fill: float) -> Array:
    """One table [..., F, F] of children given columns of categories [..., I, F], and Normals given Normals [..., J, J].

    The rest is ``fill``. Pure JAX.
    """
    if not given_categories:  # there are no columns
        return given_real
    upper = either.concatenate(given_categories, axis=-1) if len(given_categories) > 1 else given_categories[0]
    (above, size), width = upper.shape[-2:], given_real.shape[-1]
    if above == size:
        return upper
    rest = size - above - width
    margins = [*[(0, 0)] * (upper.ndim - 2), (0, rest), (above, rest)]
    lower = either.pad(given_real, margins, constant_values=fill)
    return either.concatenate([upper, lower], axis=-2)
