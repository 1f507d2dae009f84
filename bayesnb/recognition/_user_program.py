"""The user's NumPyro program and its arguments, and its runs: with given labels, rows and latents, or at random points.

Random values of latents lie at the priors' own scales: well inside the supports, or far out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.primitives import Messenger

from bayesnb.compute.arrays._placement import allow_promotion, short_repr
from bayesnb.compute.jaxpr_numpy import evaluate_once

NO_ROWS = "the example data have no rows: give at least two"

FROM_ZERO = "labels count from 0: pass y - 1, and let the program index by the labels as they are, theta[y]"

NO_LABEL = "leave rows without a label out, and give them to fit_em with label -1"

ONE_SITE = f"let one site have all rows, and index its parameters by the label, theta[y]; {NO_LABEL}"

SUMMED_OUT = f"; where it sums out a label, {ONE_SITE}"


class NotNaiveBayes(ValueError):
    """The program is not a Naive Bayes model that this package knows; the message names the site and the reason.

    It has a line for each of the ``obstacles``, and a last one for what was recognised, if any other site was.

    Example:
        >>> import numpy as np, numpyro, numpyro.distributions as dist, bayesnb as nb
        >>> def regression(x, y=None):
        ...     slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
        ...     numpyro.sample("y", dist.Bernoulli(logits=slope * x), obs=y)
        >>> try:
        ...     nb.from_numpyro(regression, model_args=(np.array([0.5, 1.5]), np.array([0, 1])), label="y")
        ... except nb.NotNaiveBayes as error:
        ...     print(str(error).partition(":")[0])
        the program has no observed site beside the label 'y'
    """

    def __init__(self, *obstacles: str, recognised: Mapping[str, str] | None = None) -> None:
        self.obstacles = obstacles
        beside = [line for site, line in (recognised or {}).items() if repr(site) not in " ".join(obstacles)]
        super().__init__("\n".join([*obstacles, *[f"recognised: {'; '.join(beside)}"] * bool(beside)]))

    @property
    def site(self) -> str:
        """The first site that the message names."""
        found = re.search(r"(?:site|plate) '([^']*)'", str(self))
        return found.group(1) if found else ""


WRAPPERS = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)

FAR = 10.0
"""How far out values go in unconstrained space: probabilities to 5e-5 from their ends, reals to ten deviations."""

CORNERS = np.array([(-FAR, FAR), (-4.0, -4.0), (4.0, 4.0), (FAR, -FAR)])
"""How far out numbers with an end to their support are, and reals: means are far where scales are small, too."""


def base_of(distribution: Any) -> Any:
    """The distribution without masks, and ``to_event`` and ``expand``, which change the meaning of axes only."""
    while isinstance(distribution, WRAPPERS):
        distribution = distribution.base_dist
    return distribution


def mask_of(site: dict[str, Any]) -> Any:
    """Which values of a site count, in the shape of the draws of its base distribution; None if all do."""
    distribution, found, event = site["fn"], None, base_of(site["fn"]).event_dim
    shape = np.shape(site["value"])[: np.ndim(site["value"]) - event]
    while isinstance(distribution, WRAPPERS):
        if isinstance(distribution, dist.MaskedDistribution):
            mask = jnp.broadcast_to(jnp.asarray(distribution._mask), distribution.batch_shape)
            mask = jnp.broadcast_to(mask.reshape(*mask.shape, *[1] * (distribution.event_dim - event)), shape)
            found = mask if found is None else found & mask
        distribution = distribution.base_dist
    seen = getattr(distribution, "seen", None)  # cells of vectors
    return found if seen is None else seen if found is None else seen & found[..., None]


def join_missing_cells(trace: dict[str, Any], label: str) -> dict[str, Any]:
    """The sites of a run, where ``obs_mask`` made two of one, with one masked site of the observed cells again.

    The other site has a latent for each missing cell. Nothing else may depend on them, so that their density
    integrates to one: a program where something does, differs between runs, which later checks refuse.
    """
    joined = dict(trace)
    for name, site in trace.items():
        observed, latent = (trace.get(f"{name}_{part}") for part in ("observed", "unobserved"))
        if site["type"] != "deterministic" or not (observed and latent and observed["is_observed"]):
            continue
        if name == label:
            raise NotNaiveBayes(
                f"site {name!r}, the label, has an obs_mask: example rows must have labels; leave the others out, and "
                "give them to fit_em"
            )
        joined[name] = observed
        del joined[f"{name}_observed"], joined[f"{name}_unobserved"]
    return joined


def value_inside(distribution: Any, sample_shape: tuple[int, ...] = ()) -> Any:
    """A value inside the support of a distribution."""
    inside = dist.biject_to(distribution.support)
    return inside(jnp.full(inside.inverse_shape(distribution.shape(sample_shape)), 0.3))


def draw_inside(distribution: Any, key: Any, sample_shape: tuple[int, ...]) -> Any:
    """A value of a site with this distribution, where densities keep their digits."""
    inside = dist.biject_to(distribution.support)
    shape = inside.inverse_shape(distribution.shape(sample_shape))
    return _at_scale_of(base_of(distribution), inside(jax.random.uniform(key, shape, minval=-1.2, maxval=1.2)))


def draw_far(distribution: Any, key: Any, sample_shape: tuple[int, ...], corner: Any, *, widest: float) -> Any:
    """A value in one of the ``CORNERS``, where reals are at most ``FAR`` times the ``widest`` from their middle.

    The smallest number of a simplex is about 1e-4. Matrices stay inside: they lose their digits far out.
    """
    base = base_of(distribution)
    is_real = base.support in (constraints.real, constraints.real_vector)
    if base.support is constraints.simplex:
        ranks = jnp.linspace(0.0, 0.92, base.event_shape[0])
        ranks = jnp.broadcast_to(ranks, distribution.shape(sample_shape))
        ranks = jax.random.permutation(key, ranks, axis=-1, independent=True)
        return jax.nn.softmax(corner[0] * ranks, axis=-1)
    if base.event_dim and not is_real:
        return draw_inside(distribution, key, sample_shape)
    free = dist.biject_to(distribution.support)
    spread = jax.random.uniform(key, free.inverse_shape(distribution.shape(sample_shape)), minval=0.9)
    return _at_scale_of(base, free(corner[int(is_real)] * spread), widest)


def _at_scale_of(distribution: Any, value: Any, widest: float = np.inf) -> Any:
    """The value, about one in size, moved to where the prior has its mass."""
    middle = _middle(distribution)
    if middle is None:
        return value
    if distribution.support is constraints.positive:
        return value * jnp.where((middle > 0) & jnp.isfinite(middle), middle, 1.0)
    if distribution.support in (constraints.real, constraints.real_vector):
        width = jnp.sqrt(distribution.variance) if hasattr(distribution, "loc") else jnp.ones_like(middle)
        least = 1e-3 * jnp.abs(middle)  # elements must differ beyond rounding
        width = jnp.minimum(jnp.maximum(jnp.where(jnp.isfinite(width), width, 1.0), least), widest)
        return jnp.where(jnp.isfinite(middle), middle + width * value, value)
    if distribution.support is constraints.positive_definite:
        size = jnp.sqrt(jnp.diagonal(middle, axis1=-2, axis2=-1))
        return value * size[..., :, None] * size[..., None, :]
    return value


def _middle(distribution: Any) -> Any:
    """A central value of a distribution, None if it has none that is known."""
    if distribution.support is constraints.lower_cholesky:
        return distribution.scale_tril
    if not isinstance(distribution, dist.TransformedDistribution):
        try:
            return distribution.mean
        except NotImplementedError:
            return None
    middle = _middle(distribution.base_dist)
    for transform in distribution.transforms if middle is not None else ():
        middle = transform(middle)
    return middle


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
        self.draw = draw or (lambda _, *given: draw_inside(*given))

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
        name, distribution = msg["name"], jax.tree.map(_double, msg["fn"])
        msg["fn"] = distribution
        if isinstance(distribution, dist.Unit) and name not in self.ignored:
            raise NotNaiveBayes(
                f"site {name!r} is a numpyro.factor: write its density as a prior, with numpyro.sample{SUMMED_OUT}"
            )
        if name in self.values:
            value = self.values[name]
            # a JAX array, as it would have been drawn: programs use its methods
            msg["value"] = jnp.asarray(value(msg) if callable(value) else value)
        elif msg["value"] is None and not distribution.support.is_discrete:
            self.key, key = jax.random.split(self.key)
            msg["value"] = self.draw(name, distribution, key, msg["kwargs"].get("sample_shape", ()))


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
            named = [f"{name}={short_repr(value)}" for name, value in self.kwargs.items()]
            call = " ".join(f"fn({', '.join([*map(short_repr, self.args), *named])})".split())
            raise NotNaiveBayes(f"the program fails when it is called as {call}: {_words_of(error)}") from error
        trace = join_missing_cells(trace, self.label)
        return {
            name: site
            for name, site in trace.items()
            if name not in self.ignored or not (site.get("is_observed", True) or site["fn"].support.is_discrete)
        }

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
