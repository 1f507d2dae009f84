"""JAX functions with a second body for numpy arrays, such as a compiled loop.

A trace holds such a function as one primitive: JAX compiles its own body, ``jaxpr_numpy`` calls the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from bayesnb.arrays.placement import Array
from bayesnb.jaxpr_numpy import RULES, Rule

Body = Callable[..., tuple[Array, ...]]
"""Several arrays from several arrays; all arguments may have further axes in front, of one shape."""

Shape = tuple[int, ...]


def with_host_body(host: Body, shapes: Callable[..., Sequence[Shape]]) -> Callable[[Body], Body]:
    """Makes a JAX function of floating-point arrays a primitive that ``host`` computes for numpy arrays.

    ``shapes`` has the shapes of the answers from those of the arguments, whose dtype they share. A trace asks for
    them, and tracing the function instead would take a quarter of a second for the loops of ``Histogram``.
    """

    def wrap(device: Body) -> Body:
        primitive = Primitive(device.__name__)
        primitive.multiple_results = True

        def of_list(*args: Array) -> list[Array]:
            return [*device(*args)]

        def answers(*avals: Any) -> list[ShapedArray]:
            return [ShapedArray(shape, jnp.result_type(*avals)) for shape in shapes(*(one.shape for one in avals))]

        def batch(args: Sequence[Array], axes: Sequence[Any]) -> tuple[list[Array], list[int]]:
            size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
            wide = [
                jnp.broadcast_to(x[None], (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0)
                for x, axis in zip(args, axes, strict=True)
            ]
            found = primitive.bind(*wide)
            return found, [0] * len(found)

        def slope(args: Sequence[Array], changes: Sequence[Any]) -> tuple[list[Array], list[Array]]:
            return jax.jvp(of_list, tuple(args), tuple(map(ad.instantiate_zeros, changes)))

        primitive.def_impl(jax.jit(of_list))
        primitive.def_abstract_eval(answers)
        mlir.register_lowering(primitive, mlir.lower_fun(of_list, multiple_results=True))
        batching.primitive_batchers[primitive] = batch
        ad.primitive_jvps[primitive] = slope
        make = lambda equation: host if len(equation.outvars) > 1 else lambda *args: host(*args)[0]  # noqa: E731
        RULES[primitive.name] = Rule("id", make)

        @wraps(device)
        def call(*args: Array) -> tuple[Array, ...]:
            return tuple(primitive.bind(*map(jnp.asarray, args)))

        return call

    return wrap
