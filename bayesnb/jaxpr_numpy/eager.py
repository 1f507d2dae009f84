"""Operations of JAX outside of any transformation, evaluated by numpy one by one as they come: none is compiled."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax
from jax.core import Trace
from jax.extend.core import set_current_trace

from bayesnb.jaxpr_numpy.equation import to_jax
from bayesnb.jaxpr_numpy.program import prepare


def by_numpy() -> AbstractContextManager[None]:
    """A context in which JAX functions of concrete arrays give concrete JAX arrays, computed by numpy.

    ``vmap``, ``grad`` and ``jit`` work inside as usual. All results are strongly typed: JAX's weak types are not kept.
    """
    return set_current_trace(EAGER)


class _Eager(Trace):
    """The trace to which JAX sends operations that have no tracer among their arguments."""

    def stage_value(self, val: Any) -> Any:
        """A Python number or a numpy array as a JAX array."""
        with jax.core.eval_context():
            return val if isinstance(val, jax.Array) else jax.device_put(val)

    def process_primitive(self, primitive: Any, tracers: Any, params: dict[str, Any], /) -> Any:
        """The results of one operation."""
        with jax.core.eval_context():
            try:
                call = prepare(primitive.bind, *jax.tree.flatten(tuple(tracers)), params)
                found = [
                    jax.device_put(to_jax(value, kind))
                    for value, kind in zip(call.values(), call.program.kinds, strict=True)
                ]
            except NotImplementedError:  # keys of another generator
                return primitive.bind(*tracers, **params)
        return found if primitive.multiple_results else found[0]

    def process_custom_jvp_call(self, _: Any, fun: Any, *args: Any, **__: Any) -> Any:
        """The values of a function that has its own derivative; its arguments are the last of ``args``."""
        with set_current_trace(self):
            return fun.call_wrapped(*args[-1])

    process_custom_vjp_call = process_custom_jvp_call


EAGER = _Eager()
