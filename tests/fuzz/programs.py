"""NumPyro programs composed at random of spellings that recognition must read, half of them broken in one place."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from hypothesis import strategies as st

import bayesnb as nb
from tests.fuzz.spellings import KINDS, PI, Spelling, Tables, same
from tests.recognition.case import Case, D, K, Y


def last_axis(table: Any, y: Any) -> Any:
    return jnp.moveaxis(jnp.moveaxis(table, 0, -1)[..., y], -1, 0)


def where(table: Any, y: Any) -> Any:
    return jnp.where((y == 1).reshape(-1, *(1,) * (table.ndim - 1)), table[1], table[0])


GATHERS: dict[str, Callable[[Any, Any], Any]] = {
    "index": lambda table, y: table[y],
    "take": lambda table, y: jnp.take(table, y, axis=0),
    "one hot": lambda table, y: jnp.tensordot(jax.nn.one_hot(y, K), table, 1),
    "where": where,
    "last axis": last_axis,
}


def draw_table(site: str, law: Any, axis: str, plates: str, columns: bool, tables: Tables) -> Any:
    """Sample a latent in this orientation, and return it with the class first."""
    if axis == "sites":
        shape = (D,) if columns else ()
        parts = []
        for k in range(K):
            own = law(lambda h, k=k: h if jnp.ndim(h) < 2 else h[k], tables)
            parts.append(_sample(f"{site}{k}", own, shape, plates))
        return jnp.stack(parts)
    if axis == "last" and columns:
        turned = law(lambda h: h[:, None] if jnp.ndim(h) == 1 else jnp.transpose(h), tables)
        return jnp.swapaxes(_sample(site, turned, (D, K), plates), 0, 1)
    return _sample(site, law(same, tables), (K, D) if columns else (K,), plates)


def _sample(site: str, law: dist.Distribution, shape: tuple[int, ...], plates: str) -> Any:
    if plates == "expand":
        return numpyro.sample(site, law.expand(shape))
    if plates == "event":
        return numpyro.sample(site, law.expand(shape).to_event(len(shape)))
    with ExitStack() as stack:
        for axis, size in enumerate(shape):
            stack.enter_context(numpyro.plate(f"{site}_{axis}", size, dim=axis - len(shape)))
        return numpyro.sample(site, law)


def assemble(values: Tables, spelling: Spelling, axis: str, columns: bool) -> Tables:
    """The values of the program's sites with the class first, as ``draw_table`` returns them."""
    if axis == "sites":
        return {site: jnp.stack([values[f"{site}{k}"] for k in range(K)]) for site in spelling.laws}
    turned = axis == "last" and columns
    return {site: jnp.swapaxes(values[site], 0, 1) if turned else values[site] for site in spelling.laws}


TURNS = iter(range(10**9))


def other_rows(y: Any, X: Any) -> Any:
    del X
    return y[::-1]


def too_far(y: Any, X: Any) -> Any:
    del X
    return y + 1


def by_a_feature(y: Any, X: Any) -> Any:
    del y
    return (jnp.asarray(X)[:, 0] > jnp.median(jnp.asarray(X)[:, 0])).astype(int)


def by_a_latent_of_each_row(y: Any, X: Any) -> Any:
    del X
    with numpyro.plate("rows_of_z", len(y)):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
    return jnp.where(z > 0, y, 1 - y)


def by_global_state(y: Any, X: Any) -> Any:
    del X
    return jnp.roll(y, 1 + next(TURNS) % 3)


def with_a_parameter(y: Any, X: Any) -> Any:
    del X
    numpyro.param("w", 1.0)
    return y


def with_a_factor(y: Any, X: Any) -> Any:
    del X
    numpyro.factor("penalty", -1.0)
    return y


BREAKS = (
    other_rows, too_far, by_a_feature, by_a_latent_of_each_row, by_global_state, with_a_parameter, with_a_factor,
    "blend", "subsample", "label counts n times",
)  # fmt: skip
OBSERVED: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda X: (X, None),
    "columns the other way round": lambda X: (X[:, ::-1], None),
    "rows rolled by one": lambda X: (jnp.roll(X, 1, axis=0), None),
    "a mask of cells": lambda X: (X, (jnp.arange(len(X))[:, None] + jnp.arange(X.shape[1])) % 5 > 0),
    "logs of reals": lambda X: (jnp.sign(X) * jnp.log1p(jnp.abs(X)), None),
    "logs of some of reals": lambda X: (jnp.log1p(jnp.abs(X)), X > -1.0),
    "standardised columns of reals": lambda X: ((X - X.mean(axis=0)) / X.std(axis=0), None),
}
"""What a program observes of its argument, and the cells that count."""
LABELS = ("categorical", "logits", "bernoulli", "fixed", "uniform", "argument")
FIXED = np.array([0.25, 0.75])


class Recipe(NamedTuple):
    """All choices of one program."""

    kind: str
    spelling: int
    axis: str
    plates: str
    gather: str
    early: bool
    label: str
    event: bool
    broken: Any
    seen: str = "as it is"

    def __call__(self, X: Any, y: Any) -> None:
        """The program."""
        kind = KINDS[self.kind]
        X, mask = OBSERVED[self.seen](jnp.asarray(X))
        spelling, tables = kind.spellings[self.spelling], {}
        for site, law in spelling.laws.items():
            tables[site] = draw_table(site, law, self.axis, self.plates, kind.columns, tables)
        half = len(X) // 2 if self.broken == "subsample" else None
        law = self.class_law()
        with numpyro.plate(
            "rows", len(X), dim=-1 - (self.broken == "label counts n times"), subsample_size=half
        ) as index:
            X, y = (jnp.asarray(part)[index] if half else jnp.asarray(part) for part in (X, y))
            if law is not None:
                y = numpyro.sample("y", law, obs=y)
        y = self.broken(y, X) if callable(self.broken) else y
        parameters = self.of_rows(tables, y)
        cells = kind.cells(**parameters, **({} if kind.columns else {"total_count": X.sum(axis=-1)}))
        cells = cells if mask is None else cells.mask(mask)
        if not kind.columns:
            numpyro.sample("x", cells, obs=X)
        elif self.event:
            numpyro.sample("x", cells.to_event(1), obs=X)
        else:
            with numpyro.plate("cells", D, dim=-1), numpyro.plate("rows_of_cells", len(X), dim=-2):
                numpyro.sample("x", cells, obs=X)

    def class_law(self) -> dist.Distribution | None:
        """Sample the class probabilities; the law of a label, None if labels are only an argument."""
        match self.label:
            case "argument":
                return None
            case "fixed":
                return dist.Categorical(jnp.asarray(FIXED))
            case "uniform":
                return dist.DiscreteUniform(0, K - 1)
            case "bernoulli":
                return dist.Bernoulli(numpyro.sample("rho", dist.Beta(PI[1], PI[0])))
        pi = numpyro.sample("pi", dist.Dirichlet(PI))
        return dist.Categorical(pi) if self.label == "categorical" else dist.Categorical(logits=jnp.log(pi))

    def of_rows(self, tables: Tables, y: Any) -> Tables:
        """The parameters of each row: those of its class."""
        spelling, gather = KINDS[self.kind].spellings[self.spelling], GATHERS[self.gather]

        def gathered(y: Any) -> Tables:
            if self.early:
                return {name: gather(table, y) for name, table in spelling.parameters(tables).items()}
            return spelling.parameters({site: gather(table, y) for site, table in tables.items()})

        if self.broken == "blend":
            return jax.tree.map(lambda one, other: 0.7 * one + 0.3 * other, gathered(y), gathered(1 - y))
        return gathered(y)

    def canonical(self, values: Tables) -> Tables:
        """The values of the expected model's sites."""
        kind = KINDS[self.kind]
        spelling = kind.spellings[self.spelling]
        found = spelling.canonical(assemble(values, spelling, self.axis, kind.columns))
        params = {f"x_{kind.parameter if name == 'canonical' else name}": v for name, v in found.items()}
        if "pi" in values:
            params["class_probs"] = values["pi"]
        if "rho" in values:
            params["class_probs"] = jnp.stack([1.0 - values["rho"], values["rho"]])
        return params

    def case(self) -> Case:
        """The program and the answer to it."""
        kind = KINDS[self.kind]
        prior = {
            "argument": {"num_classes": K},
            "fixed": {"class_probs": FIXED},
            "uniform": {"class_probs": np.full(K, 1.0 / K)},
        }.get(self.label, {"class_concentration": PI})
        expected = nb.NaiveBayes(kind.family, **prior)
        answer = "refused" if self.broken else "conjugate"
        return Case(str(self), lambda X, y: (self, (X, y), {}), kind.X, Y, answer, "y", expected, self.canonical)

    def observed(self, X: Any) -> Any:
        """The cells that the program observes, NaN where masked."""
        cells, mask = OBSERVED[self.seen](jnp.asarray(X))
        return np.asarray(cells) if mask is None else np.where(mask, cells, np.nan)


@st.composite
def observing_recipes(draw: st.DrawFn, kind: str) -> Recipe:
    """A program of this family that observes something else than its argument."""
    kinds = {"of cells": KINDS[kind].columns, "of reals": KINDS[kind].cells is dist.Normal}
    seen = [name for name in OBSERVED if all(kinds[k] for k in kinds if name.endswith(k)) and name != "as it is"]
    return draw(recipes(kind, broken=False))._replace(seen=draw(st.sampled_from(seen)))


@st.composite
def recipes(draw: st.DrawFn, kind: str, broken: bool | None = None) -> Recipe:
    """A program of this family; None breaks half of them."""
    spellings = range(len(KINDS[kind].spellings))
    gather, label = draw(st.sampled_from(list(GATHERS))), draw(st.sampled_from(LABELS))
    breaks = [b for b in BREAKS if is_broken(b, gather, label)]
    broken = draw(st.booleans()) if broken is None else broken
    return Recipe(
        kind,
        draw(st.sampled_from(spellings)),
        draw(st.sampled_from(["first", "last", "sites"])),
        draw(st.sampled_from(["plates", "expand", "event"])),
        gather,
        draw(st.booleans()),
        label,
        draw(st.booleans()),
        draw(st.sampled_from(breaks)) if broken else None,
    )


def is_broken(change: Any, gather: str, label: str) -> bool:
    """True if this change makes another program of one with this gather and this label."""
    if change is too_far:  # where and one_hot have an answer for a class beyond the last
        return gather in ("index", "take", "last axis")
    return change != "label counts n times" or label != "argument"
