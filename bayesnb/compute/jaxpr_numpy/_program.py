"""JAX traces a function once for its arguments' shapes, and numpy then evaluates the operations one by one.

A trace takes some milliseconds, a compilation some hundred, and one of random numbers seconds. ``by_numpy`` evaluates
operations outside of any trace, as they come.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Trace
from jax.extend.core import Literal, set_current_trace

from bayesnb.compute.jaxpr_numpy._equation import Function, bind, function_of, numpy_dtype, to_jax, to_numpy
from bayesnb.compute.jaxpr_numpy._rules import RULES

Values = list[Any]

LONG = 100
"""The most steps of a loop that is not compiled: from there on compiled loops are worth their time."""

KEPT = 1 << 12
"""The most numbers of a constant that is kept between calls, and of a value that is kept to the end of one."""

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Primitives that call another program, with the name of the parameter that holds it."""


def evaluate(function: Callable[..., Any], *args: Any, **static: Any) -> Any:
    """``function(*args, **static)``, a pure JAX function, in float64 and with numpy leaves.

    Arguments are pytrees of numpy arrays, numbers and threefry keys. Pass module-level functions and hashable static
    arguments: a new function is traced at every call. Integers and normal numbers that are drawn are JAX's; gamma
    variates are numpy's, also a function of the key alone.
    """
    return prepare(function, *jax.tree.flatten(args), static)()


def evaluate_once(function: Callable[..., Any], *args: Any) -> Any:
    """``evaluate`` for a closure, whose trace is not kept."""
    return prepare(function, *jax.tree.flatten(args), {}, trace=_trace.__wrapped__)()


def evaluate_numbers(function: Callable[..., Any], *args: Any) -> Any:
    """``evaluate`` for a function that treats each number alike, from its trace of single ones: arrays broadcast."""
    single = [jax.ShapeDtypeStruct((), np.float64)] * len(args)
    program, _ = _trace(function, (), jax.tree.structure(single), tuple([_kind(x) for x in single]), False)
    with np.errstate(all="ignore"):
        return program(*[np.asarray(x, np.float64) for x in args])[0]


class Call(NamedTuple):
    """A program with its arguments."""

    program: Program
    of_answer: Any
    leaves: list[Any]

    def __call__(self) -> Any:
        """The result, with numpy leaves."""
        return self.of_answer.unflatten([_own(value) for value in self.values()])

    def values(self) -> Values:
        """The leaves of the result, which may share memory with the arguments."""
        with np.errstate(all="ignore"):
            return self.program(*[x if type(x) is np.ndarray else to_numpy(x) for x in self.leaves])


def prepare(
    function: Callable[..., Any], leaves: list[Any], structure: Any, static: dict[str, Any], trace: Any = None
) -> Call:
    """The call that ``evaluate`` makes, from the leaves and the structure of the arguments; its trace is kept."""
    kinds = tuple([(x.shape, x.dtype, False) if type(x) is np.ndarray else _kind(x) for x in leaves])
    key = function, tuple(static.items()), structure, kinds, jax.threefry_partitionable.value
    try:
        hash(key[1])
    except TypeError:
        trace = _trace.__wrapped__
    program, of_answer = (trace or _trace)(*key)
    return Call(program, of_answer, leaves)


def _kind(leaf: Any) -> tuple[Any, ...]:
    """Shape, dtype, and whether the leaf is a number that takes the dtype of what it meets."""
    with jax.enable_x64(True):
        kind = jax.typeof(leaf)
    return kind.shape, kind.dtype, kind.weak_type


def _own(value: Any) -> Any:
    """A copy in memory of its own, read-only as the results of compiled functions are."""
    copy = np.array(value, order="C")
    copy.flags.writeable = False
    return copy


@lru_cache(maxsize=1024)
def _trace(
    function: Callable[..., Any], static: tuple[tuple[str, Any], ...], structure: Any, kinds: tuple[Any, ...], _: bool
) -> tuple[Program, Any]:
    """The program for arguments of this structure, and the structure of its results; both depend on JAX's generator."""

    def of_leaves(*leaves: Any) -> Any:
        return function(*jax.tree.unflatten(structure, leaves), **dict(static))

    like = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in kinds]
    with jax.core.eval_context(), jax.enable_x64(True), jax.numpy_dtype_promotion("standard"):
        traced, answer = jax.make_jaxpr(of_leaves, return_shape=True)(*like)
        return compose(traced), jax.tree.structure(answer)


class Step(NamedTuple):
    """One operation, with the places of its arguments and results."""

    function: Callable[..., Any]
    before: tuple[int, ...]
    after: tuple[int, ...]
    last: tuple[int, ...] = ()
    """The places of large values that no later operation reads."""


class Program:
    """Operations in order. Values have places in a list; those that depend on no argument are computed already."""

    def __init__(self, num_arguments: int) -> None:
        self.values: Values = [None] * num_arguments
        self.known: set[int] = set()
        self.large: set[int] = set()
        self.steps: list[Step] = []
        self.answers: list[int] = []
        self.kinds: list[Any] = []  # of the answers, as JAX has them
        self.work = 0  # how many numbers the operations compute; the steps of a loop count once

    def __call__(self, *args: Any) -> Values:
        """The results for these arguments."""
        values = self.values.copy()
        values[: len(args)] = args
        for function, before, after, last in self.steps:
            found = function(*[values[place] for place in before])
            if len(after) == 1:
                values[after[0]] = found
            else:
                for place, value in zip(after, found, strict=True):
                    values[place] = value
            for place in last:
                values[place] = None
        return [values[place] for place in self.answers]

    def add(self, jaxpr: Any, constants: Any, arguments: list[int]) -> list[int]:
        """Append the operations of a jaxpr, and return the places of its results."""
        places = dict(zip(jaxpr.invars, arguments, strict=True))
        places.update((name, self._constant(value)) for name, value in zip(jaxpr.constvars, constants, strict=True))

        def place(atom: Any) -> int:
            literal: Any = atom if isinstance(atom, Literal) else None
            return places[atom] if literal is None else self._constant(np.asarray(literal.val, literal.aval.dtype))

        for equation in jaxpr.eqns:
            before = [place(atom) for atom in equation.invars]
            if (name := equation.primitive.name) in CALLS:
                called = equation.params[CALLS[name]]
                after = self.add(called.jaxpr, called.consts, before)
            elif name == "convert_element_type" and equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype:
                after = before  # JAX's weak types, which numpy does not have
            else:
                size = sum(variable.aval.size for variable in equation.outvars)
                self.work += size
                loop = LOOPS.get(name)
                function = loop(equation, **equation.params) if loop else function_of(equation, RULES)
                after = self._step(function, before, len(equation.outvars), folds=size <= KEPT)
                if size > KEPT:
                    self.large.update(after)
            places.update(zip(equation.outvars, after, strict=True))
        return [place(atom) for atom in jaxpr.outvars]

    def _constant(self, value: Any) -> int:
        self.values.append(to_numpy(value))
        self.known.add(len(self.values) - 1)
        return len(self.values) - 1

    def _step(self, function: Callable[..., Any], before: list[int], num_results: int, folds: bool) -> list[int]:
        if folds and self.known.issuperset(before):
            with np.errstate(all="ignore"):
                found = function(*[self.values[place] for place in before])
            return [self._constant(value) for value in ([found] if num_results == 1 else found)]
        after = list(range(len(self.values), len(self.values) + num_results))
        self.values.extend([None] * num_results)
        self.steps.append(Step(function, tuple(before), tuple(after)))
        return after


def compose(traced: Any) -> Program:
    """The program of a closed jaxpr: only the operations that its results need."""
    program = Program(len(traced.jaxpr.invars))
    program.kinds = traced.out_avals
    program.answers = program.add(traced.jaxpr, traced.consts, list(range(len(traced.jaxpr.invars))))
    needed, steps = set(program.answers), []
    for step in reversed(program.steps):
        if not needed.isdisjoint(step.after):
            last = tuple(place for place in {*step.before} - needed - program.known if place in program.large)
            steps.append(step._replace(last=last))
            needed.update(step.before)
    program.steps = steps[::-1]
    return program


def _while(equation: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int) -> Function:
    if cond_jaxpr.out_avals[0].shape:  # of loops under vmap, which end one by one
        return bind(equation)
    proceed, body = compose(cond_jaxpr), compose(body_jaxpr)

    def run(*args: Any) -> Any:
        of_cond, rest = args[:cond_nconsts], args[cond_nconsts:]
        of_body, state = rest[:body_nconsts], [*rest[body_nconsts:]]
        while proceed(*of_cond, *state)[0]:
            state = body(*of_body, *state)
        return state[0] if len(state) == 1 else state

    return run


def _scan(equation: Any, jaxpr: Any, length: int, reverse: bool, **_: Any) -> Function:
    if length > LONG:
        return bind(equation)
    body = compose(jaxpr)
    # scanned arguments and results have one axis more than in the body; newer JAX has no count of the others, num_carry
    inside, outside = ([v.aval for v in jaxpr.jaxpr.outvars], [v.aval for v in equation.outvars])
    like = [
        (one.shape, numpy_dtype(one.dtype)) for one, all_ in zip(inside, outside, strict=True) if one.ndim < all_.ndim
    ]
    pairs = zip(jaxpr.jaxpr.invars, equation.invars, strict=True)
    num_carry = len(inside) - len(like)
    num_consts = len(equation.invars) - num_carry - sum(one.aval.ndim < all_.aval.ndim for one, all_ in pairs)

    def run(*args: Any) -> Any:
        constants, state, columns = args[:num_consts], [*args[num_consts:][:num_carry]], args[num_consts + num_carry :]
        found = [np.empty((length, *shape), dtype) for shape, dtype in like]
        for i in reversed(range(length)) if reverse else range(length):
            answer = body(*constants, *state, *[column[i] for column in columns])
            state = answer[:num_carry]
            for whole, part in zip(found, answer[num_carry:], strict=True):
                whole[i] = part
        every = [*state, *found]
        return every[0] if len(every) == 1 else every

    return run


def _cond(_: Any, branches: Any, **__: Any) -> Function:
    programs = [compose(branch) for branch in branches]

    def run(index: Any, *args: Any) -> Any:
        answer = programs[min(max(int(index), 0), len(programs) - 1)](*args)
        return answer[0] if len(answer) == 1 else answer

    return run


LOOPS: dict[str, Function] = {"while": _while, "scan": _scan, "cond": _cond}
"""The rules of loops and conditionals, by the primitive's name."""


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
