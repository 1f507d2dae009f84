"""Prediction of each row from the rows before it, which count less the longer ago they are.

    log p(y_t, x_t | rows before) with weights f^(t - s) on the row s before row t, f the forgetting factor

What is known before row t is a discounted sum of the statistics of single rows. Discounting and merging is associative,
so all these sums, class by class, come from one parallel prefix scan over each block of rows (Blelloch, Prefix sums and
their applications, 1990). A discounted posterior is raised to a power, as in the steady forecasting model of Smith, A
generalization of the Bayesian steady forecasting model (1979): the prior of the next row lies between it and the prior.

numpy rows of flags, categories and reals are predicted by loops, one row after another, ``log_predictive_in_order``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.compute import compute
from bayesnb.arrays.placement import allow_promotion, pad_rows, to_host
from bayesnb.arrays.typing import Array, ArrayLike, Rows
from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.normal import Normal
from bayesnb.families.parts.statistics import CategoricalStatistics
from bayesnb.families.tied_columns import TiedColumns
from bayesnb.fits.closed_form import conjugate
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.primitives.in_order import log_category_ratios, log_student_densities
from bayesnb.primitives.sums import Labels, class_sums
from bayesnb.rows.arguments import check_factors, require_known
from bayesnb.rows.checks import check_values
from bayesnb.rows.labelled_rows import LabelledRows, label_rows
from bayesnb.rows.statistics import class_sizes

BLOCK_BYTES = 1 << 22
"""Bytes of the statistics of the single rows of a block."""

FEWEST, MOST = 64, 256
"""The numbers of rows that a block may have; the time to compile a scan grows with the larger one."""


def prequential(model: NaiveBayes, X: Rows, y: ArrayLike, forgetting: float | Mapping[str, float] = 1.0) -> Array:
    """log p(y_t, x_t | rows before, discounted) of every row in order, [N], exact, in one compiled pass.

    The sum is the prequential evidence (Dawid, Statistical theory: the prequential approach, 1984). Without forgetting
    it is the log evidence of all rows, under the same resolved prior.

    Args:
        model: The specification; hyperparameters that are left to the data are resolved from all rows.
        X: An array [N, D], or a dict of arrays by block, in the order of time; NaN is missing.
        y: Integers 0..K-1 [N].
        forgetting: The factor f in [0, 1] by which each new row discounts all earlier ones; 1 forgets nothing. Or a
            dict of one for each block and for "label", the class probabilities.

    Raises:
        ValueError: if rows, labels or factors do not fit; for soft labels; inside a JAX transformation.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Bernoulli(), num_classes=1)
        >>> nb.prequential(model, [[1], [1], [0]], [0, 0, 0]).round(3)  # log of 1/2, 2/3, 1/4
        array([-0.693, -0.405, -1.386])
    """
    return Sequence(model, X, y).log_probs(forgetting)


class Sequence:
    """Checked rows in order, under a resolved prior."""

    def __init__(self, model: NaiveBayes, X: Any, y: Any) -> None:
        require_known("a prediction of rows in order", model, X, y)
        prior = conjugate(model).resolve(X, y)
        rows = label_rows(prior, X, y, sparse=False)
        if rows.labels.soft:
            raise ValueError("rows in order need integer labels [N]: a row with soft labels belongs to every class")
        check_values(rows.families, rows.arrays, fit=True)
        self.rows, self.on_host = rows, rows.on_host and rows.beside is None
        self.prior, self.model = prior, prior.with_hyperparameters(rows.families, prior.class_concentration)

    @property
    def names(self) -> list[str]:
        """The names of the blocks."""
        return [*self.rows.families]

    def log_probs(self, forgetting: Any) -> Array:
        """log p(y_t, x_t | rows before, discounted), [N]."""
        require_known("a prediction of rows in order", forgetting)
        factors = check_factors(forgetting, self.names, "forgetting")
        found = {name: self._by_loop(name, factor) for name, factor in factors.items()} if self.on_host else {}
        parts = [terms for terms in found.values() if terms is not None]
        others = {name: np.asarray(value, float) for name, value in factors.items() if found.get(name) is None}
        if others:
            args = to_host(self._args) if self.on_host else self._args
            terms = compute(_log_probs, *args, others)
            parts.append(terms.reshape(-1)[: self.rows.num_rows])
        return sum(parts[1:], parts[0])

    def evidence(self, part: str | None, factor: float) -> float:
        """The prequential evidence under a common factor, or the part of one block or of "label"; in float64."""
        total = 0.0
        for name in ["label", *self.names] if part is None else [part]:
            terms = self._by_loop(name, factor)
            if terms is None:
                terms = compute(_log_probs, *to_host(self._args), {name: np.asarray(factor, float)})
            total += float(terms.sum())
        return total

    def _by_loop(self, name: str, factor: float) -> Array | None:
        """The part of one block or of "label", [N], by a loop; None if the family has none."""
        y, factor = np.asarray(self.rows.labels.y), float(factor)
        if name == "label":
            if self.model.class_probs is not None:
                with np.errstate(divide="ignore"):  # a class of probability zero
                    return np.log(np.asarray(self.model.class_probs, float))[y]
            prior = np.asarray(self.model.class_concentration, float)[None]
            return log_category_ratios(prior, (prior.size,), y[:, None], np.zeros_like(y), factor)
        family, x = self.model.families[name], np.asarray(self.rows.arrays[name])
        terms = log_predictive_in_order(family, x, y, factor)
        base = None if terms is None else family.row_base_measure(x)
        return terms if base is None else terms + base

    @cached_property
    def _args(self) -> tuple[NaiveBayes, dict[str, Array], Array]:
        """The model, and the rows of each block and their labels in blocks of one size, [M, B, ...]."""
        shape, codes = self._shape, np.asarray(self.rows.labels.y)
        room = shape[0] * shape[1]
        no_class = np.full(room - len(codes), self.rows.num_classes, codes.dtype)  # for the padding
        arrays = {name: np.asarray(x) for name, x in self.rows.arrays.items()}
        blocks = {name: pad_rows(x, room).reshape(*shape, *x.shape[1:]) for name, x in arrays.items()}
        return self.model, blocks, np.append(codes, no_class).reshape(shape)

    @property
    def _shape(self) -> tuple[int, int]:
        """The number of blocks, of three significant bits so that few programs are compiled, and their size."""
        rows: LabelledRows = self.rows
        a_row = max(class_sizes(rows).values())
        most = max(min(BLOCK_BYTES // max(a_row, 1), MOST), FEWEST)
        size = 1 << (min(max(rows.num_rows, FEWEST), most).bit_length() - 1)
        number = max(-(-rows.num_rows // size), 1)
        step = 1 << max(number.bit_length() - 3, 0)
        return -(-number // step) * step, size


@singledispatch
def log_predictive_in_order(family: Any, x: Array, y: Array, factor: float) -> Array | None:
    """log p(x_n | y_n, rows before, which fade), [N], of numpy rows by a loop; None if the family has none."""
    del family, x, y, factor
    return None


@log_predictive_in_order.register(Bernoulli)
def _of_flags(family: Any, x: Array, y: Array, factor: float) -> Array:
    prior = np.stack([family.b, family.a], axis=-1).reshape(len(family.a), -1)
    return log_category_ratios(prior, family.category_sizes(x.shape[1]), x, y, factor)


@log_predictive_in_order.register(Categorical)
def _of_categories(family: Any, x: Array, y: Array, factor: float) -> Array:
    return log_category_ratios(family.concentration, family.category_sizes(x.shape[1]), x, y, factor)


@log_predictive_in_order.register(Normal)
def _of_reals(family: Any, x: Array, y: Array, factor: float) -> Array | None:
    return None if family.common_sites else log_student_densities(family.prior, x, y, factor)


@log_predictive_in_order.register(TiedColumns)
def _of_tied_columns(*_: Any) -> None:
    """No loop: the cells of a row depend on each other."""


@jax.jit
def _log_probs(model: NaiveBayes, blocks: Any, labels: Array, factors: Mapping[str, Array]) -> Array:
    parts = [_part(model, blocks, labels, name, factor) for name, factor in factors.items()]
    return sum(parts[1:], parts[0])


def _part(model: NaiveBayes, blocks: Any, labels: Array, name: str, factor: Array) -> Array:
    """The log probability of the labels, or of the cells of one block given them, [M, B]; 0 for padding."""
    with allow_promotion():
        if name == "label":
            terms = _of_labels(model, labels, factor)
        elif model.families[name].common_sites:
            terms = _of_tied(model.families[name], blocks[name], labels, factor, model.num_classes or 0)
        else:
            terms = _of_classes(model.families[name], blocks[name], labels, factor, model.num_classes or 0)
    return jnp.where(labels < (model.num_classes or 0), terms, 0.0)


def _of_labels(model: NaiveBayes, labels: Array, factor: Array) -> Array:
    num_classes = model.num_classes or 0
    if model.class_probs is not None:
        return jnp.log(jnp.asarray(model.class_probs))[jnp.minimum(labels, num_classes - 1)]
    prior = jnp.asarray(model.class_concentration, jnp.result_type(float))

    def block(carry: Any, y: Any) -> tuple[Any, Array]:
        one = CategoricalStatistics(jnp.ones((len(y), 1)), (1,))
        before, after = _before(carry, one, y, factor)
        # of all classes together: what was there, and a geometric series
        powers = factor ** jnp.arange(1.0, len(y) + 1.0)
        all_ = powers * carry.counts.sum() + jnp.concatenate([jnp.zeros(1), jnp.cumsum(powers)[:-1]])
        own = prior[jnp.minimum(y, num_classes - 1)] + before.counts[:, 0]
        return after, jnp.log(own) - jnp.log(prior.sum() + all_)

    return jax.lax.scan(block, CategoricalStatistics(jnp.zeros((num_classes, 1)), (1,)), labels)[1]


def _of_classes(family: Family, x: Array, labels: Array, factor: Array, num_classes: int) -> Array:
    """The predictive of each row in its class, whose parameters no other class shares."""

    def predictive(own: Mapping[str, Array], statistics: Any, x: Array) -> Array:
        own, statistics = jax.tree.map(lambda a: a[None], (own, statistics))
        return family._replace(**own).update(statistics).log_predictive_terms(x[None]).sum()

    def block(carry: Any, rows: tuple[Array, Array]) -> tuple[Any, Array]:
        x, y = rows
        alone = family.statistics(x, class_sums(Labels(jnp.arange(len(y)), None), len(y)))
        before, after = _before(carry, _floats(alone), y, factor)
        terms = jax.vmap(predictive)(_take(family, jnp.minimum(y, num_classes - 1)), before, x)
        base = family.row_base_measure(x)
        return after, terms if base is None else terms + base

    nothing = _floats(family.statistics(x[0], class_sums(Labels(jnp.full(x.shape[1], num_classes), None), num_classes)))
    return jax.lax.scan(block, nothing, (x, labels))[1]


def _of_tied(family: Family, x: Array, labels: Array, factor: Array, num_classes: int) -> Array:
    """The predictive of each row in its class, if a row tells something of all classes: row by row."""

    def row(state: Any, one: tuple[Array, Array]) -> tuple[Any, Array]:
        x, y = one
        before = state.discount(factor)
        terms = family.update(before).log_predictive_terms(x[None])[0, jnp.minimum(y, num_classes - 1)].sum()
        base = family.row_base_measure(x[None])
        own = _floats(family.statistics(x[None], class_sums(Labels(y[None], None), num_classes)))
        return before.merge(own), terms if base is None else terms + base[0]

    rows = x.reshape(-1, *x.shape[2:]), labels.reshape(-1)
    nothing = _floats(family.statistics(rows[0][:1], class_sums(Labels(jnp.full(1, num_classes), None), num_classes)))
    return jax.lax.scan(row, nothing, rows)[1].reshape(labels.shape)


def _before(carry: Any, alone: Any, y: Array, factor: Array) -> tuple[Any, Any]:
    """The statistics of each row's class before it, [B, ...], and those of all classes after the block, [K, ...].

    Each class starts with what was known of it, at time -1, followed by its rows in order.
    """
    num_classes, size = len(jax.tree.leaves(carry)[0]), len(y)
    labels = jnp.concatenate([jnp.arange(num_classes), y])
    times = jnp.concatenate([jnp.full(num_classes, -1), jnp.arange(size)])
    both = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), carry, alone)
    order = jnp.argsort(labels, stable=True)
    labels, times, both = jax.tree.map(lambda a: a[order], (labels, times, both))

    def join(a: Any, b: Any) -> Any:
        faded = jnp.where(a[0] == b[0], factor ** jnp.asarray(b[1] - a[1], factor.dtype), 0.0)
        return b[0], b[1], a[2].discount(faded).merge(b[2])

    _, _, after = jax.lax.associative_scan(join, (labels, times, both))
    place = jnp.argsort(order)[num_classes:] - 1  # of the row before in the same class
    gaps = jnp.asarray(jnp.arange(size) - times[place], factor.dtype)
    before = jax.tree.map(lambda a: a[place], after).discount(factor**gaps)
    last = jnp.searchsorted(labels, jnp.arange(num_classes), side="right") - 1
    at_end = jax.tree.map(lambda a: a[last], after)
    return before, at_end.discount(factor ** jnp.asarray(size - 1 - times[last], factor.dtype))


def _take(family: Family, y: Array) -> dict[str, Array]:
    """The hyperparameters of each row's class, [B, ...]."""
    return {name: getattr(family, name)[y] for name, letters in family.axes if letters[0] in "KT"}


def _floats(tree: Any) -> Any:
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.promote_types(jnp.result_type(a), jnp.result_type(float))), tree)
