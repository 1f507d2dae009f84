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
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array
from bayesnb.families.base import Family
from bayesnb.families.parts.end_to_end import EndToEnd
from bayesnb.families.parts.statistics import CategoricalStatistics
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.families.words import FAMILIES
from bayesnb.forests import bivariate_normal
from bayesnb.forests.bivariate_normal import Moments
from bayesnb.forests.columns import Layout, Segments, normal_prior, pseudo_counts
from bayesnb.forests.pairs import JointStatistics, PairStatistics, join_segments, merge_labels
from bayesnb.numerics import dirichlet
from bayesnb.primitives.forest_sums import NEVER


class Child(NamedTuple):
    """A block of features as children: priors, and statistics of which each class is a label.

    The labels of ``given`` are (k, c) for each of the parents' S categories, and k alone, K (S + 1) in all; those of
    ``same`` are k in the rows where each of the I parents is seen, and k alone, K (I + 1).
    """

    given: Any
    of_given: Any
    same: Any
    of_same: Any


class Parts(NamedTuple):
    """The children, those with categories first, and the prior and the moments of the Normal columns."""

    children: tuple[Child, ...]
    prior: NormalInverseGamma
    moments: Moments


def prepare_parts(
    families: Mapping[str, Family],
    blocks: Mapping[str, Any],
    pairs: PairStatistics,
    layout: Layout,
    segments: Segments,
) -> Parts:
    """The priors of all labels and their statistics, of segments in categories' stead. Pure JAX.

    ``blocks`` are the model's own statistics.
    """
    num_classes, nothing = pairs.num_classes, jnp.zeros((pairs.num_classes, 0))
    pairs = join_segments(pairs, segments)
    sizes, size = pairs.categories.sizes, pairs.num_labels
    counts = pairs.categories.counts.reshape(num_classes, size, size)
    concentration = jnp.concatenate([nothing, *(pseudo_counts(families[name]) for name in layout.categories)], axis=1)
    concentration = EndToEnd(tuple(chain.from_iterable(segments))).of_columns(concentration)
    share = dirichlet.dirichlet_mean(concentration, EndToEnd(sizes).total)
    share = jnp.concatenate([share, jnp.ones((num_classes, 1))], axis=1).reshape(-1, 1)
    of_labels = np.repeat(np.arange(num_classes), size + 1)
    of_columns = np.repeat(np.arange(num_classes), len(sizes) + 1)

    def child(family: Any, alone: Any, labelled: Any) -> Child:
        given, same = (_append(one, alone) for one in (labelled, merge_labels(labelled, sizes * num_classes)))
        return Child(take_labels(family, of_labels), given, take_labels(family, of_columns), same)

    children = []
    if sizes:
        family = FAMILIES["categorical"](sizes)._replace(concentration=concentration)
        alone = CategoricalStatistics(jnp.diagonal(counts, axis1=1, axis2=2), sizes)
        found = child(family, alone, pairs.categories)
        children.append(found._replace(given=found.given._replace(concentration=found.given.concentration * share)))
    for name in (*layout.reals, *layout.others):
        labelled = pairs.blocks.get(name, blocks[name].spread_classes(np.zeros(0, int)))
        children.append(child(families[name], blocks[name], labelled))
    priors: list[Any] = [normal_prior(families[name]) for name in layout.reals]
    prior = NormalInverseGamma(*(jnp.concatenate([nothing, *(one[i] for one in priors)], axis=1) for i in range(4)))
    return Parts(tuple(children), prior, joint_moments(pairs.reals))


def take_labels(tables: Any, labels: Array) -> Any:
    """A prior, statistics or tables with these labels; a number is that of all labels. Pure JAX."""
    return jax.tree.map(lambda a: jnp.take(a, labels, axis=0, mode="clip") if jnp.ndim(a) else a, tables)


def _append(labelled: Any, alone: Any) -> Any:
    """Statistics of labels, and of each class alone as its last label."""

    def join(labels: Array, last: Array) -> Array:
        shape, size = last.shape[1:], len(labels) + len(last)
        of_class = jnp.asarray(labels).reshape(len(last), len(labels) // len(last), *shape)
        return jnp.concatenate([of_class, jnp.asarray(last)[:, None]], axis=1).reshape(size, *shape)

    return jax.tree.map(join, labelled, alone)


def joint_moments(statistics: JointStatistics) -> Moments:
    """The moments of two real columns, [K, J, J]."""
    count, mean, squares, product = statistics.count, statistics.mean, statistics.squares, statistics.product
    return Moments(count, mean, mean.swapaxes(1, 2), squares, squares.swapaxes(1, 2), product)


def log_evidence_ratios(parts: Parts, sizes: tuple[int, ...]) -> Array:
    """The log of that ratio [F, F], parents first, in the order of tables; ``NEVER`` where no dependence is possible.

    ``sizes`` are those of the I columns with categories. A column of one category, such as a histogram's without cuts,
    has no edges: they would be other words for no edge. Pure JAX.
    """
    num_classes, size = parts.prior.loc.shape[0], sum(sizes)

    def edges(child: Child) -> Array:
        """[I, F]."""
        apart = child.given.log_partition_ratio(child.of_given).reshape(num_classes, size + 1, -1)[:, :size].sum(axis=0)
        together = child.same.log_partition_ratio(child.of_same).reshape(num_classes, len(sizes) + 1, -1)[:, :-1]
        return EndToEnd(sizes).of_columns(apart.T).T - together.sum(axis=0)

    real = bivariate_normal.log_bayes_factor(parts.prior, parts.moments).sum(axis=0)
    ratios = assemble([edges(child) for child in parts.children], real, NEVER)
    single = np.append(np.array(sizes, int) == 1, np.zeros(len(ratios) - len(sizes), bool))
    never = np.eye(len(ratios), dtype=bool) | single[:, None] | single[None, :]
    return jnp.where(never, NEVER, ratios)


def assemble(given_categories: list[Array], given_real: Array, fill: float) -> Array:
    """One table [..., F, F] of children given columns of categories [..., I, F], and Normals given Normals [..., J, J].

    The rest is ``fill``. Pure JAX.
    """
    upper = jnp.concatenate(given_categories, axis=-1) if len(given_categories) != 1 else given_categories[0]
    (above, size), width = upper.shape[-2:], given_real.shape[-1]
    if above == size:
        return upper
    rest = size - above - width
    margins = [*[(0, 0, 0)] * (upper.ndim - 2), (0, rest, 0), (above, rest, 0)]
    lower = jax.lax.pad(given_real, jnp.asarray(fill, given_real.dtype), margins) if rest or above else given_real
    return jnp.concatenate([upper, lower], axis=-2) if above else lower
