"""Any distribution of NumPyro as a likelihood, by quadrature over its one to three parameters a class and column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._compute import compute, compute_rows, interpret
from bayesnb.compute.arrays._loops import row_blocks
from bayesnb.compute.arrays._own_primitives import refuse
from bayesnb.compute.arrays._placement import Array, known, on_host, pytree
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives import products
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Hyperparameter, Params, Score, conjugate_update, left_out
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families.parts import _lattice as lattice
from bayesnb.core.families.parts._bin_statistics import known_rows
from bayesnb.core.families.parts._densities import Density, Drawn, Powers, read_arguments
from bayesnb.core.families.parts._frames import Frame, class_sums_of, find_frame, look_up
from bayesnb.core.families.parts._node_statistics import NodeStatistics
from bayesnb.core.families.parts._solvers import solver
from bayesnb.core.families.parts._support import OPEN_UNIT, broadcast, require_shapes, require_support


class OfNumPyro(Family):
    """A family whose likelihood is a distribution of NumPyro with some unknown arguments, the sites."""

    @property
    @abstractmethod
    def density(self) -> Density:
        """The distribution as a function of its unknown arguments."""

    @property
    def sites(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.density.names

    @property
    def support(self) -> Constraint:
        support = self.density.support
        return OPEN_UNIT if support is constraints.unit_interval else support

    def likelihood(self, params: Params) -> dist.Distribution:
        return self.density.make(params)

    def check_params(self, params: Params, block: str) -> None:
        super().check_params(params, block)
        require_shapes(block, params, **dict.fromkeys(self.sites, "KD"))
        for name, constraint in self.density.unknown.items():
            value = known(params[name])
            if value is not None and not np.asarray(constraint(value)).all():
                raise ValueError(f"params['{block}_{name}'] must lie in the support {constraint}")

    def check(self, x: Array, block: str) -> None:
        require_support(x, self.support, block, self.density.title)


@pytree
class Likelihood(OfNumPyro):
    """Real features, positive ones, shares, angles or counts with any likelihood p(x | theta) of NumPyro:

        phi_kd ~ Normal(centre_d, spread_d),    theta = biject_to(support of theta)(phi),
        x_nd | y_n = k ~ distribution(theta_kd)

    for one to three unknown arguments theta of ``distribution``. A column is kept as a weighted sample of fixed size,
    from which log p(rows | theta) follows at every theta (``families.parts._frames``), and posterior, evidence and
    predictive are sums over a lattice (``_lattice``): no sampler, and ``post.errors`` says how exact they are, in nats.

    By default the prior is unit information: centred at the maximum of the likelihood of all rows, whatever their
    labels, with the information of one row. ``compare_evidence`` compares such priors among themselves.

    The bins of the sample are found when the model is resolved or first counts rows, as those of a Histogram are.
    Statistics with different bins do not merge, and rows beyond them, by more than half the range of the rows that
    found them, cannot be counted; predictions know no such limit.

    Args:
        distribution: A distribution of NumPyro, such as ``dist.Gamma``.
        frame: The bins of columns, [D, 4], as ``model.resolve(X, y).families["x"].frame`` has them; None to find them.
        given, weights, centre, spread, numbers, fitted, tilts: Of a resolved model or a posterior.
        **arguments: Numbers for those of its arguments that are known, and NumPyro distributions for those that have a
            prior of their own, as in ``concentration=dist.LogNormal(0.0, 1.0)``, of which the numbers broadcast to
            [K, D]. All others have the default prior.

    Sites: ``block_argument`` [K, D] for each unknown argument, such as ``x_rate``.

    Raises:
        ValueError: for a distribution whose support moves with unknown arguments or has no map, with none or more than
            three unknown arguments; and in fits, if log p(x) is not smooth in x.

    Example:
        >>> import bayesnb as nb, numpyro.distributions as dist
        >>> X, y = [[0.2], [0.7], [0.4], [2.1], [3.0], [2.4]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Likelihood(dist.Gamma)), X, y)
        >>> post.predict_proba([[0.5], [2.5]]).round(2)
        array([[0.88, 0.12],
               [0.07, 0.93]])
    """

    distribution: Any = field(default=None, metadata={"static": True})
    given: tuple[tuple[str, Any], ...] = field(default=(), metadata={"static": True})
    weights: Hyperparameter = None
    frame: Hyperparameter = None
    centre: Hyperparameter = None
    spread: Hyperparameter = None
    numbers: Hyperparameter = None
    fitted: bool = field(default=False, metadata={"static": True})
    tilts: Powers = field(default=(), metadata={"static": True})

    axes = (("weights", "KDM"), ("frame", "1DF"), ("centre", "1DQ"), ("spread", "1DQ"), ("numbers", "KDH"))
    statistics_type = NodeStatistics

    def __init__(
        self,
        distribution: Callable[..., dist.Distribution] | str,
        *,
        given: tuple[tuple[str, object], ...] = (),
        weights: Hyperparameter = None,
        frame: Hyperparameter = None,
        centre: Hyperparameter = None,
        spread: Hyperparameter = None,
        numbers: Hyperparameter = None,
        fitted: bool = False,
        tilts: Powers = (),
        **arguments: float | dist.Distribution,
    ) -> None:
        was_read = given or (isinstance(distribution, str) and frame is not None)  # of a resolved one
        read = (Density(distribution, given), numbers) if was_read else read_arguments(distribution, arguments)
        density, numbers = read
        self.__dict__.update(distribution=density.distribution, given=density.given, weights=weights, frame=frame)
        self.__dict__.update(centre=centre, spread=spread, numbers=numbers, fitted=fitted, tilts=tilts)
        self.__post_init__()

    def __repr__(self) -> str:
        given = [f", {name}={f'{value:g}' if isinstance(value, float) else value[0]}" for name, value in self.given]
        return f"Likelihood({self.density.title}{''.join(given)})"

    # what is known of the distribution, and the bins

    @property
    def density(self) -> Density:
        return Density(self.distribution, self.given, self.tilts)

    @property
    def bins(self) -> Frame:
        """The bins of a resolved model, or one that has counted rows."""
        return Frame(self.density.scale, self.frame[(0,) * (np.ndim(self.frame) - 2)])

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        size = len(self.sites)
        return {
            "K": num_classes,
            "D": num_columns,
            "M": Frame(self.density.scale, None).size,
            "F": 4,
            "Q": size,
            "H": self.density.num_numbers,
            "1": 1,
        }

    def prepare(self, x: Array, weight: Callable[[], Array | None]) -> Self:
        """The family with the bins of these rows [N, D] of some ``weight()``; itself if it has bins."""
        if self.frame is not None:
            return self
        numbers, heavy = known_rows("Likelihood finds its bins", x, weight)
        rows = np.asarray(numbers if heavy is None else numbers[heavy > 0], np.float64)
        return self._replace(frame=find_frame(self.density.scale, rows)[None])

    def resolve(self, pooled: NodeStatistics, num_classes: int) -> Self:
        sizes = self.axis_sizes(num_classes, pooled.num_columns)
        weights, centre, spread = self.weights, self.centre, self.spread
        if weights is None:
            weights = jnp.zeros(tuple(sizes[letter] for letter in "KDM"), jnp.result_type(float))
        if centre is None:
            centre, spread = self._of_all(pooled)
        numbers = broadcast(self.numbers, tuple(sizes[letter] for letter in "KDH"), "numbers")
        return self._replace(weights=weights, frame=pooled.frame[:1], centre=centre, spread=spread, numbers=numbers)

    def defaults(self, pooled: NodeStatistics) -> Params:
        own = {name for name, value in self.given if isinstance(value, tuple)}
        return {} if own >= {*self.sites} else dict(zip(("centre", "spread"), self._of_all(pooled), strict=True))

    def _of_all(self, pooled: NodeStatistics) -> tuple[Array, ...]:
        """The maximum of all rows together, and the information of one, [1, D, Q] each."""
        none = np.zeros((1, 1, self.density.num_numbers))  # no prior has a say here
        bare = self._replace(frame=pooled.frame[:1], centre=None, spread=None, numbers=none)
        return solver("prior", self.density)(*bare._units(pooled.weights))

    # the program

    def params(self, block: str) -> Params:
        centre, spread = (
            jnp.broadcast_to(part, (*self.weights.shape[:2], part.shape[-1])) for part in (self.centre, self.spread)
        )
        found: dict[str, Array] = {}
        drawn = self._draw() if self.fitted else None
        with plates(block, self.weights.shape[:2]):
            for q, name in enumerate(self.sites):
                prior = self.density.prior(q, centre[..., q], spread[..., q], self.numbers)
                if drawn is not None:
                    last = self._log_density if q + 1 == len(self.sites) else None
                    prior = Drawn(prior.support, drawn[name], partial(self._variance, q), last, found, name)
                found[name] = numpyro.sample(f"{block}_{name}", prior)
        return found

    def _log_density(self, params: Params) -> Array:
        """Of the posterior at theta, [K, D]."""
        return self.log_prior_and_rows(params) - self.integral().log_sum

    def _variance(self, number: int) -> Array:
        """Of one coordinate phi, which for a real argument is itself, [K, D]."""
        return jnp.square(self.integral().place.factor).sum(axis=-1)[..., number]

    def _draw(self) -> Params:
        """One draw of all arguments; their means where the program has no key."""
        key, place = numpyro.prng_key(), self.integral().place
        phi = place.mean
        if key is not None:
            logs = solver("draw", self.density)(*self._units(self.weights), *place)[0]
            uniform = jax.random.uniform(key, (*phi.shape[:2], 1 + phi.shape[2]))
            z = jax.vmap(jax.vmap(lambda *one: lattice.draw(one[0][None], phi.shape[2], one[1][None])[0]))(
                logs, uniform
            )
            phi = phi + (place.factor @ z[..., None])[..., 0]
        return self.density.arguments(phi)

    # rows

    def statistics(self, x: Array, z: ClassSums) -> NodeStatistics:
        bins = self.bins
        table, inside = class_sums_of(bins, either.floats(x), z)
        refuse(
            ~(inside | either.isnan(x)),
            f"column {{column}} holds {{0}}, which lies beyond the bins that {self!r} found in other rows: resolve the "
            "model on rows that reach as far, model.resolve(X, y)",
            x,
        )
        num_columns, size = x.shape[1], bins.size
        frame = either.broadcast_to(either.like(bins.table, table)[None], (z.num_classes, *bins.table.shape))
        return NodeStatistics(table.reshape(z.num_classes, num_columns, size), frame)

    def update(self, statistics: NodeStatistics) -> Self:
        return self._replace(weights=self.weights + statistics.weights, fitted=True)

    # estimates

    def _units(self, weights: Array) -> lattice.Units:
        """What the problems of ``_lattice`` take, for classes of these weights [K, D, M]."""
        shape, size = weights.shape[:2], len(self.sites)
        bins = self.bins
        nodes = Frame(bins.scale, jnp.asarray(bins.table)).nodes
        if self.centre is None:  # of the pooled rows: where their maximum is searched, and in which unit
            line = bins.scale == "line"
            real = np.array([getattr(one, "lower_bound", None) is None for one in self.density.unknown.values()])
            table = jnp.asarray(bins.table)[:, :, None]
            centre, spread = jnp.where(real & line, table[:, 0], 0.0), jnp.where(real & line, table[:, 1], 1.0)
        else:
            centre, spread = (jnp.asarray(part)[0] for part in (self.centre, self.spread))
        wide = lambda part, last: jnp.broadcast_to(part, (*shape, last))  # noqa: E731
        numbers = wide(jnp.asarray(self.numbers)[: shape[0]], self.density.num_numbers)
        parts = wide(nodes, bins.size), wide(centre, size), wide(spread, size), numbers
        return lattice.Units(jnp.asarray(weights), *parts)

    def integral(self) -> lattice.Integral:
        """The lattices of all classes and columns, log Z [K, D], and errors [K, D, 3]. Pure JAX."""
        mean, factor, level, log_sum, errors = solver("find", self.density)(*self._units(self.weights))
        return lattice.Integral(lattice.Place(mean, factor, level), log_sum, errors)

    def log_prior_and_rows(self, params: Params) -> Array:
        """log p(theta) p(rows | theta), [K, D], by density of theta. Pure JAX."""
        density, units = self.density, self._units(self.weights)
        phi = density.coordinates(params)
        wide = {name: jnp.asarray(value)[..., None] for name, value in params.items()}
        some = jnp.take_along_axis(units.nodes, (units.weights != 0).argmax(axis=-1)[..., None], axis=-1)
        cells = jnp.where(units.weights != 0, units.nodes, some)
        rows = (units.weights * density.make(wide).log_prob(cells)).sum(axis=-1)
        return rows + density.log_prior(phi, *units[2:]) - density.log_jacobian(phi)

    def reference(self) -> Params:
        return self.density.arguments(self.integral().place.mean)

    def mode(self) -> Params:
        return self.density.arguments(solver("map", self.density)(*self._units(self.weights))[0])

    def mle(self, statistics: NodeStatistics) -> Params:
        find = solver("mle", self.density)
        own, pooled = (find(*self._units(one.weights))[0] for one in (statistics, statistics.pool()))
        return self.density.arguments(jnp.where((statistics.observed_cells > 0)[..., None], own, pooled))

    def log_likelihood_ratio(self, statistics: NodeStatistics, params: Params, reference: Params) -> Array:
        units = self._units(statistics.weights)
        size = units.weights.shape[0] * units.weights.shape[1]
        flat = lattice.Units(*[part.reshape(size, part.shape[-1]) for part in units])

        def log_rows(params: Params) -> Array:
            phi = self.density.coordinates(params).reshape(size, 1, -1)
            found, off, most = lattice.sums(self.density, flat, phi)
            # no more than the rows' own density where the sum is not to be believed: a sampler would stay there
            return found - 2.0 * jnp.maximum(off - most, 0.0)

        return (log_rows(params) - log_rows(reference)).sum()

    # predictions

    def _integrate(self, x: Array, weight: Array) -> Array:
        """log p(x | k) at x [K, D, n], from rows less the ``weight`` of x itself, of its shape. Pure JAX."""
        given = *self._units(self.weights), *self.integral().place
        return solver("integrate", self.density)(*given, x, weight)[0]

    def node_table(self, weight: Array) -> Array:
        """The same at the nodes, [K, D, M], for rows of this weight. Pure JAX."""
        nodes = self._units(self.weights).nodes
        return self._integrate(nodes, jnp.broadcast_to(weight, nodes.shape))

    def predictive_tables(self) -> Array:
        return self.node_table(jnp.zeros(()))

    def predictive_scorer(self, tables: Array) -> Score:
        def score(x: Array) -> LogProb:
            if not on_host(self, tables, x):
                return LogProb(compute_rows(products.sum_terms, (self,), (x,), terms="log_predictive_terms"), None)
            found, inside = look_up(self.bins, np.asarray(x, np.float64), tables)
            far = np.flatnonzero((~inside & ~np.isnan(x)).any(axis=1))
            if len(far):
                cells = np.where(inside[far], np.nan, x[far])
                found[far] += compute(products.sum_terms, self, (cells,), terms="log_predictive_terms")
            return LogProb(found, None)

        return score

    def log_predictive_terms(self, x: Array) -> Array:
        x = jnp.asarray(x, jnp.result_type(float))
        seen = ~jnp.isnan(x)
        cells = jnp.where(seen, x, self._units(self.weights).nodes[0, :, 0])
        cells = jnp.broadcast_to(cells.T, (len(self.weights), *cells.T.shape))
        return jnp.where(seen[:, None], jnp.moveaxis(self._integrate(cells, jnp.zeros(cells.shape)), 2, 0), 0.0)

    def leave_one_out(self, statistics: NodeStatistics, x: Array, y: Array, weight: Array) -> Array:
        if not on_host(self, statistics, x, y, weight):
            return super().leave_one_out(statistics, x, y, weight)
        terms, blocks = left_out(self, statistics, y, weight), row_blocks(len(y), x.shape[1] << 10)
        parts = [terms(x[rows], y[rows], weight[rows]).sum(axis=2) for rows in blocks]
        return np.concatenate([np.zeros((0, len(statistics.weights))), *parts])

    def log_partition(self) -> Array:
        """log Z, and 0 for what has no rows, as priors are normalised."""
        none = jnp.zeros(self.weights.shape[:2], self.weights.dtype)
        return jnp.where((self.weights != 0).any(axis=-1), self.integral().log_sum, none) if self.fitted else none


_node_table = jax.jit(lambda family, weight: family.node_table(weight))
errors_of = jax.jit(lambda family: family.integral().errors)

MOST_TABLES = 16
"""Rows of more different weights are left out one by one, as are those that are an eighth of their class or more."""


@left_out.register(Likelihood)
def _(
    family: Likelihood, statistics: NodeStatistics, y: Array, weight: Array
) -> Callable[[Array, Array, Array], Array]:
    del y
    posterior, weights = compute(conjugate_update, family, statistics), np.unique(weight)
    few = len(weights) <= MOST_TABLES
    every = [0.0, *weights] if few else [0.0]
    tables = np.stack([compute(_node_table, posterior, np.float64(one)) for one in every])

    def terms(x: Array, y: Array, weight: Array) -> Array:
        first, shares, inside = posterior.bins.spread(np.asarray(x, np.float64))
        places = np.minimum(first[..., None] + np.arange(shares.shape[-1]), tables.shape[-1] - 1)
        columns = np.arange(x.shape[1])[None, :, None]
        found = np.stack([(table[columns, places] * shares).sum(axis=-1) for table in tables[0]], axis=1)
        own: Array = np.searchsorted(weights, weight) + 1 if few else np.zeros(len(y), int)
        table = tables[own[:, None, None], y[:, None, None], columns, places]
        found[np.arange(len(y)), y] = (table * shares).sum(axis=-1)
        far = ~inside & ~np.isnan(x)
        if far.any():
            found += interpret(type(family).log_predictive_terms, posterior, np.where(far, x, np.nan))
        alone = np.flatnonzero((8.0 * weight[:, None] > statistics.observed_cells[y]).any(axis=1) | (not few))
        if len(alone):
            found[alone, y[alone]] = interpret(
                type(family).left_out_terms, family, statistics, x[alone], y[alone], weight[alone]
            )
        return found

    return terms
