"""The user's program and its arguments, and its runs: with given labels, rows and latents, or at random points."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.primitives import Messenger

from bayesnb.arrays.placement import allow_promotion
from bayesnb.arrays.pytree import short_repr
from bayesnb.jaxpr_numpy import evaluate_once
from bayesnb.recognition.refusals import SUMMED_OUT, NotNaiveBayes
from bayesnb.recognition.sites import draw_inside, join_missing_cells

MOST_ROWS = 64
"""The most example rows with which the program is probed, if it takes its rows from its arguments."""

Trace = dict[str, Any]

NEEDS_NUMBERS = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, NotImplementedError)
"""What is raised where a number is needed that a trace has not, and for random keys that numpy cannot follow."""


def numbers_of(leaf: Any) -> np.ndarray[Any, Any] | None:
    """The numbers or flags of an argument as an array, numpy's, JAX's, pandas' or polars'; None for all others."""
    dtype = getattr(leaf, "dtype", None)
    if dtype is None or (isinstance(leaf, jax.Array) and jnp.issubdtype(dtype, jax.dtypes.extended)):
        return None
    values = np.asarray(leaf)
    return values if values.dtype == bool or jnp.issubdtype(values.dtype, np.number) else None


def type_like(leaf: Any, value: np.ndarray[Any, Any]) -> Any:
    """The value in a container like the leaf."""
    if isinstance(leaf, np.ndarray | jax.Array):
        value = value.astype(leaf.dtype)
        return value if isinstance(leaf, np.ndarray) else jnp.asarray(value)
    if not hasattr(leaf, "copy") or len(leaf) != len(value):  # polars has none; pandas' has the index of the leaf
        return type(leaf)(value, dtype=leaf.dtype)
    changed = leaf.copy()
    changed[:] = value
    return changed


def holds(leaf: Any, values: np.ndarray[Any, Any] | None) -> bool:
    """Whether an argument is an array of these values, in any shape."""
    held = numbers_of(leaf)
    if values is None or held is None or held.ndim == 0 or held.size != values.size:
        return False
    return np.array_equal(held.ravel(), values.ravel())


def numbers(function: Callable[..., Any], *args: Any, by: Callable[..., Any] = evaluate_once) -> Any:
    """``function(*args)`` with numpy leaves, ``by`` numpy from its trace, or by its operations if it needs numbers."""
    try:
        return by(function, *args)
    except (NotNaiveBayes, *NEEDS_NUMBERS) as error:
        if not isinstance(error.__cause__ or error, NEEDS_NUMBERS):
            raise
    return jax.tree.map(np.asarray, function(*args))


class given(Messenger):
    """A context in which sites have these values, and other latents random ones, given their name and distribution."""

    def __init__(
        self, fn: Any, values: Mapping[str, Any], key: Any, draw: Any = None, ignored: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(fn)
        self.values, self.key, self.ignored = values, key, ignored
        self.draw = draw or (lambda _, *law: draw_inside(*law))

    def process_message(self, msg: dict[str, Any]) -> None:
        """Set the value of a sample site."""
        if msg["type"] != "sample" and msg.get("name") in self.ignored:  # a loop has no name
            return
        if msg["type"] == "plate" and msg["args"][1] not in (None, msg["args"][0]):
            raise NotNaiveBayes(
                f"plate {msg['name']!r} has a subsample_size: a model of some rows only is not certified; leave it out"
            )
        if msg["type"] == "param":
            raise NotNaiveBayes(f"site {msg['name']!r} is a numpyro.param: give it a prior with numpyro.sample")
        if msg["type"] != "sample":
            return
        name, law = msg["name"], jax.tree.map(_double, msg["fn"])
        msg["fn"] = law
        if isinstance(law, dist.Unit) and name not in self.ignored:
            raise NotNaiveBayes(
                f"site {name!r} is a numpyro.factor: write its density as a prior, with numpyro.sample{SUMMED_OUT}"
            )
        if name in self.values:
            value = self.values[name]
            # a JAX array, as it would have been drawn: programs use its methods
            msg["value"] = jnp.asarray(value(msg) if callable(value) else value)
        elif msg["value"] is None and not law.support.is_discrete:
            self.key, key = jax.random.split(self.key)
            msg["value"] = self.draw(name, law, key, msg["kwargs"].get("sample_shape", ()))


def default_label(msg: Any) -> Any:
    """The observed label, or class 0."""
    if msg["value"] is not None:
        return msg["value"]
    return np.zeros(msg["fn"].shape(msg["kwargs"].get("sample_shape", ())), np.int32)


def _words_of(error: Exception) -> str:
    """An error of the program on one line, with advice where it needs the number of a latent."""
    words = " ".join(str(error).split("\n--------------------")[0].split())
    if isinstance(error, jax.errors.JAXTypeError):
        first = str(error).splitlines()[0].rstrip(".")
        words = f"{first}: latents are traced, so use jnp.where instead of if, and jnp, not numpy"
    return f"{type(error).__name__}: {words}"


def inner(fn: Any) -> Any:
    """The function inside NumPyro's handlers."""
    while isinstance(fn, Messenger):
        fn = fn.fn
    return fn


def _double(leaf: Any) -> Any:
    """A float32 parameter of a distribution, such as a constant of the program, in float64 where JAX has it."""
    return leaf.astype(jnp.result_type(float)) if getattr(leaf, "dtype", None) == jnp.float32 else leaf


@dataclass(frozen=True)
class Program:
    """A NumPyro program with example arguments. ``label`` is the label's site, or the name of an argument."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    label: str
    held: frozenset[int] = frozenset()
    """The numbers of leaves of the arguments that are not rows, although they have as many."""
    ignored: frozenset[str] = frozenset()
    """Sites that were refused, beside which the others are looked at."""

    def trace(self, values: Mapping[str, Any], key: Any = None, draw: Any = None) -> Trace:
        """The sites of one run, with the observed labels or class 0 unless ``values`` has others."""
        key = jax.random.key(0) if key is None else key
        program = given(self.fn, {self.label: default_label, **values}, key, draw, self.ignored)
        try:
            with allow_promotion():
                trace = handlers.trace(handlers.seed(program, key)).get_trace(*self.args, **self.kwargs)
        except NotNaiveBayes:
            raise
        except Exception as error:
            raise NotNaiveBayes(f"the program fails when it is called as {self._call()}: {_words_of(error)}") from error
        trace = join_missing_cells(trace, self.label)
        return {
            name: site
            for name, site in trace.items()
            if name not in self.ignored or not (site.get("is_observed", True) or site["fn"].support.is_discrete)
        }

    def _call(self) -> str:
        """The call in short, on one line."""
        parts = [*map(short_repr, self.args), *(f"{name}={short_repr(value)}" for name, value in self.kwargs.items())]
        return " ".join(f"fn({', '.join(parts)})".split())

    @property
    def arguments(self) -> dict[str, Any]:
        """The program's arguments by name."""
        try:
            bound = inspect.signature(inner(self.fn)).bind(*self.args, **self.kwargs)
        except (TypeError, ValueError) as error:
            raise NotNaiveBayes(f"the program cannot be called with model_args and model_kwargs: {error}") from error
        return dict(bound.arguments)

    @property
    def leaves(self) -> list[Any]:
        """The leaves of the arguments."""
        return jax.tree.leaves((self.args, dict(self.kwargs)), is_leaf=lambda leaf: leaf is None)

    def map(self, change: Callable[[Any], Any], *, of_rows: bool = False) -> Program:
        """The same program with each leaf of its arguments changed, but those held if the change is one ``of_rows``."""
        structure = jax.tree.structure((self.args, dict(self.kwargs)), is_leaf=lambda leaf: leaf is None)
        leaves = [leaf if of_rows and n in self.held else change(leaf) for n, leaf in enumerate(self.leaves)]
        args, kwargs = jax.tree.unflatten(structure, leaves)
        return replace(self, args=args, kwargs=kwargs)

    def in_double(self) -> Program:
        """The same program with float64 arguments, and integers as JAX arrays."""

        def double(leaf: Any) -> Any:
            if not isinstance(leaf, np.ndarray | jax.Array):
                return leaf
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "iu":
                return jnp.asarray(leaf)  # JAX may fail to index by a numpy array that it has seen in float32
            return jnp.asarray(np.asarray(leaf, np.float64)) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

        return self.map(double)

    def change_rows(
        self, num_rows: int, label: np.ndarray[Any, Any] | None, change: Callable[..., Any], *given: Any
    ) -> Program:
        """The same program with other rows in its arguments, but the label: ``change(table [N, D], *given)``."""

        def of_rows(leaf: Any) -> Any:
            held = numbers_of(leaf)
            if held is None or held.shape[:1] != (num_rows,) or holds(leaf, label):
                return leaf
            return type_like(leaf, change(held.reshape(num_rows, -1), *given).reshape(held.shape))

        return self.map(of_rows, of_rows=True)

    def select_rows(self, num_rows: int, rows: np.ndarray[Any, Any], *, counts: bool) -> Program:
        """The same program with these ``rows``, by position, of all arguments that have ``num_rows``.

        With ``counts`` arguments that are this number change too.
        """

        def cut(leaf: Any) -> Any:
            if counts and type(leaf) is int and leaf == num_rows:
                return len(rows)
            if not hasattr(leaf, "dtype") or np.shape(leaf)[:1] != (num_rows,):
                return leaf
            return leaf.iloc[rows] if hasattr(leaf, "iloc") else leaf[rows]  # by position

        return self.map(cut, of_rows=True)
