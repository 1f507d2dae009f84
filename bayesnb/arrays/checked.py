"""Checks of values that JAX traces: nothing, unless the user's function goes through ``checkify``.

``checkify.debug_check`` is an effect, and with one JAX takes 40 microseconds longer to call a compiled function. So it
hides in a primitive that passes its argument on, of which nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax
from jax.experimental import checkify
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from bayesnb.arrays.placement import Array, is_traced, promote_dtypes
from bayesnb.jaxpr_numpy import RULES, Rule


class Checked(Primitive):
    """Its first argument. ``checkify`` reads a parameter ``call_jaxpr``, and binds it with checks as ``subfuns``."""

    def bind(self, *args: Any, subfuns: Sequence[Any] = (), **params: Any) -> Any:
        """The first argument, or what ``checkify`` wants to be run in its place."""
        return subfuns[0].call_wrapped(*args) if subfuns else super().bind(*args, **params)


@promote_dtypes
def checked(check: Callable[..., Array], x: Array, *others: Array) -> Array:
    """``check(x, *others)``, which is ``x`` or raises ValueError; for traced values ``x``, and ``checkify`` raises."""
    if not is_traced(x, others):
        # without this an outer jit would trace computations even on a known JAX array
        with jax.core.eval_context():
            return check(x, *others)
    with suppress(jax.errors.JAXTypeError):  # the check of a user's family may ask for values
        x = _checked.bind(x, *others, call_jaxpr=jax.make_jaxpr(check)(x, *others))[0]
    return x


def refuse(bad: Array, sentence: str, *values: Array) -> None:
    """Raise ValueError if some rows [N] or cells [N, D] are ``bad``; if they are traced, ``checkify`` does.

    The sentence has the ``{row}`` and ``{column}`` of the first of them, and ``{0}``, what the first of ``values`` has.
    """
    if 0 in bad.shape or not (is_traced(bad) or bad.any()):
        return
    table = bad if bad.ndim == 2 else bad[:, None]
    column = table.any(axis=0).argmax()
    row = table[:, column].argmax()
    found = [value[(row, column)[: bad.ndim]] for value in values]
    if is_traced(bad):
        checkify.debug_check(~bad.any(), sentence, *found, row=row, column=column)
    else:
        raise ValueError(sentence.format(*found, row=row, column=column))


def _batch(args: Sequence[Array], axes: Sequence[Any], call_jaxpr: Any) -> tuple[list[Array], list[Any]]:
    of_many = jax.vmap(jaxpr_as_fun(call_jaxpr), in_axes=tuple(axes), out_axes=axes[0])
    return _checked.bind(*args, call_jaxpr=jax.make_jaxpr(of_many)(*args)), [axes[0]]


_checked = Checked("checked")
_checked.multiple_results = True
_checked.def_impl(lambda x, *_, **__: [x])
_checked.def_abstract_eval(lambda x, *_, **__: [x])
mlir.register_lowering(_checked, lambda _, x, *__, **___: [x])
batching.primitive_batchers[_checked] = _batch
ad.primitive_jvps[_checked] = lambda args, changes, **call: (_checked.bind(*args, **call), [changes[0]])
RULES["checked"] = Rule("biuwfd", lambda _: lambda x, *__: x)
