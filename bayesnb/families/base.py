"""The contract of a family: a likelihood for a block of columns together with its conjugate prior.

A family is a frozen dataclass and a pytree. Its fields are the prior's hyperparameters; conjugacy means that
``update(statistics)`` returns the same class with other hyperparameters. The same parts stand in the same order:

1. hyperparameters, and ``resolve``, which fixes their shapes, [K, D] or [K, S], and those that are left to the data;
2. ``params``: the NumPyro sub-model of the parameters, one ``sample`` site each, inside class and feature plates;
3. ``likelihood``: the NumPyro distribution of a row. Densities are written nowhere else;
4. ``statistics``: what rows contribute, summed into classes;
5. ``update``: the conjugate update;
6. ``reference``, ``mode`` and ``mle`` of the parameters;
7. ``weights`` and ``features``: the log likelihood as row features times class weights; ``log_likelihood_of``: the
   same from statistics, relative to a reference point, for samplers;
8. ``log_predictive_terms``: the exact predictive of each cell under the present hyperparameters, [N, K, D];
9. ``log_partition`` and ``log_base_measure``, from which the evidence follows.

Laws that hold for each, and that the tests check once for all: prior times likelihood equals evidence times
posterior; the evidence is the product of one-step predictives; the gradient of the log posterior vanishes at the
mode; statistics of any split merge to those of the whole; a missing cell is marginalised.

Arrays are numpy's or JAX's, traced or not; a family never asks. Missing cells are NaN.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb import products
from bayesnb.arrays import Array, finalise, namespace
from bayesnb.families.support import short_repr
from bayesnb.log_prob import LogProb
from bayesnb.sums import ClassSums

Params = Mapping[str, Array]
"""Parameters of one block by their short names, such as ``probs``; in the model's program a site is ``block_probs``."""

Hyperparameter = Any
"""A number or an array that broadcasts to [K, D]."""

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def pytree(cls: type[T]) -> type[T]:
    """Makes a frozen dataclass a pytree; fields with ``metadata={"static": True}`` are part of its structure."""
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    static = [f.name for f in fields if f.metadata.get("static")]
    leaves = [f.name for f in fields if not f.metadata.get("static")]

    def flatten(node: T) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(node, name) for name in leaves], tuple(getattr(node, name) for name in static)

    def flatten_with_keys(node: T) -> tuple[list[Any], tuple[Any, ...]]:
        children, aux = flatten(node)
        return [(jax.tree_util.GetAttrKey(n), c) for n, c in zip(leaves, children, strict=True)], aux

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> T:
        # no __init__: leaves may be tracers or placeholders, which no check may look at
        node = object.__new__(cls)
        for name, value in zip([*leaves, *static], [*children, *aux], strict=True):
            object.__setattr__(node, name, value)
        return node

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


class Node:
    """A readable repr: arrays by their shapes, fields at their defaults left out."""

    def __repr__(self) -> str:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = ((f, getattr(self, f.name)) for f in fields)
        shown = (f"{f.name}={short_repr(v)}" for f, v in values if v is not f.default)
        return f"{type(self).__name__}({', '.join(shown)})"


class Statistics(Node):
    """Sufficient statistics of one block, every array [K, ...]. Sums, unless a class says otherwise."""

    def merge(self, other: Self) -> Self:
        """The statistics of both sets of rows together."""
        return jax.tree.map(lambda a, b: a + b, self, other)

    def pool(self) -> Self:
        """The statistics of all classes together, [1, ...]."""
        return jax.tree.map(lambda a: a.sum(axis=0, keepdims=True), self)


class Family(Node, ABC):
    """A likelihood for a block of columns and its conjugate prior; see the module's text for the contract."""

    sites: ClassVar[tuple[str, ...]]
    """The short names of the parameters."""

    statistics_type: ClassVar[type]
    """The class of its sufficient statistics."""

    # 1. hyperparameters

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, list | tuple) and not f.metadata.get("static"):
                object.__setattr__(self, f.name, np.asarray(value))

    def _replace(self, **changes: Any) -> Self:
        """A copy with other hyperparameters that are already known to be valid, or traced."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        node = object.__new__(type(self))
        for name, value in {**values, **changes}.items():
            object.__setattr__(node, name, value)
        return node

    @abstractmethod
    def resolve(self, pooled: Any, num_classes: int) -> Self:
        """The same prior with every shape and every hyperparameter fixed, from the statistics of all classes pooled."""

    @property
    def num_classes(self) -> int | None:
        """K where a hyperparameter is given class by class, else None."""
        found = {np.shape(v)[0] for v in jax.tree.leaves(self) if np.ndim(v) == 2 and np.shape(v)[0] > 1}
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return found.pop() if found else None

    @property
    def declared_columns(self) -> int | None:
        """D where the specification tells it before any data, else None."""
        return None

    @property
    def num_columns(self) -> int:
        """D of a resolved family."""
        return jax.tree.leaves(self)[0].shape[-1]

    def columns_of(self, params: Params) -> int:
        """D of parameters [K, D, ...]."""
        return next(iter(params.values())).shape[1]

    # 2., 3. the generative program

    @abstractmethod
    def params(self, block: str) -> Params:
        """Samples the parameters, sites ``block_name`` of shape [K, D, ...]."""

    @abstractmethod
    def likelihood(self, params: Params) -> dist.Distribution:
        """The distribution of the cells of rows whose class has these parameters, [..., D]."""

    def observe(self, block: str, params: Params, x: Array | None, total_count: Array | None) -> Array:
        """The sample site of the block's rows; ``params`` are those of each row's class."""
        del total_count  # Multinomial's
        law = self.likelihood(params)
        if x is None:
            return numpyro.sample(block, law.to_event(1))
        seen = self.seen(x)
        if seen is not None:
            x, law = jnp.where(seen, x, 0), law.mask(seen)
        return numpyro.sample(block, law.to_event(1), obs=x)

    @abstractmethod
    def check_params(self, params: Params, block: str) -> None:
        """Raises ValueError unless the shapes fit each other and known values are parameters."""

    # 4. - 6. statistics and estimates

    @abstractmethod
    def check(self, x: Array, block: str) -> None:
        """Raises ValueError for values outside the support; never called on tracers."""

    @abstractmethod
    def seen(self, x: Array) -> Array | None:
        """False for missing cells, [N, D]; None where it is known that there are none."""

    @abstractmethod
    def statistics(self, x: Array, z: ClassSums) -> Any:
        """The sufficient statistics of rows ``x`` [N, D] under the labels ``z``."""

    def accepts(self, statistics: Any) -> bool:
        """True for statistics of such a block."""
        return isinstance(statistics, self.statistics_type)

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """The posterior: the same family with other hyperparameters."""

    @abstractmethod
    def reference(self) -> Params:
        """A central point of the parameters, always interior: means, and rate / shape for a variance."""

    @abstractmethod
    def mode(self) -> Params:
        """The joint mode of the parameters, in the space of the sites."""

    @abstractmethod
    def mle(self, statistics: Any) -> Params:
        """The maximiser of the likelihood; where it is free, the estimate of all classes pooled."""

    # 7. the likelihood

    @abstractmethod
    def weights(self, params: Params) -> Any:
        """Class weights of row features that give the log likelihood; pure JAX. See ``products``."""

    def features(self, x: Array) -> tuple[Array, ...]:
        """The row features [N, D] that the weights multiply."""
        return (x,)

    def log_likelihood(self, params: Params, x: Array) -> LogProb:
        """log p(x | y = k, params) of each row without the base measure, [N, K]."""
        return products.linear(self, finalise(weights_of, self, params), x)

    @abstractmethod
    def log_likelihood_of(self, statistics: Any, params: Params, reference: Params) -> Array:
        """log p(rows | params) - log p(rows | reference), a scalar; the reference is the posterior mean under self."""

    def row_base_measure(self, x: Array) -> Array | None:
        """The part of log p(x | params) that no parameter touches, [N]; None where it is 0."""
        del x
        return None

    def centred(self, statistics: Any) -> tuple[Self, Any]:
        """The same problem, prior and statistics, in coordinates where the posterior is of order one."""
        return self, statistics

    def restored(self, statistics: Any, params: Params) -> Params:
        """Parameters of the ``centred`` problem in the original coordinates."""
        del statistics
        return params

    # 8. the exact predictive

    @abstractmethod
    def log_predictive_terms(self, x: Array) -> Array:
        """log p(x_d | y = k) with the parameters integrated out, [N, K, D]; 0 for a missing cell. Pure JAX."""

    def log_predictive(self, x: Array) -> LogProb:
        """Their sum over columns, [N, K]."""
        finite = products.by_rows(predictive_of, (self,), x)
        return LogProb(finite, namespace(finite).zeros_like(finite))

    # 9. the evidence

    @abstractmethod
    def log_partition(self) -> Array:
        """log of the prior's normalising constant, by class and feature, [K, D]."""

    def log_base_measure(self, statistics: Any) -> Array:
        """What the evidence holds beside the ratio of partitions, by class and feature; 0 unless overridden."""
        del statistics
        return jnp.zeros(())


def plates(block: str, shape: tuple[int, ...]) -> ExitStack:
    """The plates of a block's parameters: classes, and features unless the shape is [K]."""
    stack = ExitStack()
    names = ("classes", "features")
    for axis, (name, size) in enumerate(zip(names, shape, strict=False)):
        stack.enter_context(numpyro.plate(f"{block}_{name}", size, dim=axis - len(shape)))
    return stack


@jax.jit
def weights_of(family: Family, params: Params) -> Any:
    """``family.weights(params)``, jitted."""
    return family.weights(params)


@jax.jit
def predictive_of(family: Family, x: Array) -> Array:
    """``family.log_predictive_terms(x)`` summed over columns, jitted."""
    return family.log_predictive_terms(x).sum(axis=-1)
