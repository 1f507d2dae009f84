"""What most programs have in common: a table of classes and columns, and rows with a label and one block."""

from collections.abc import Callable
from typing import Any

import jax
import numpyro
import numpyro.distributions as dist

from tests.recognition.case import PI, D, K, N


def table(site: str, law: dist.Distribution) -> jax.Array:
    """A latent with an entry of this law for each class and column."""
    with numpyro.plate("classes", K, dim=-2), numpyro.plate("columns", D, dim=-1):
        return numpyro.sample(site, law)


def by_class(site: str, law: dist.Distribution) -> jax.Array:
    """A latent with an entry of this law for each class."""
    with numpyro.plate("classes", K):
        return numpyro.sample(site, law)


def by_column(site: str, law: dist.Distribution) -> jax.Array:
    """A latent with an entry of this law for each column."""
    with numpyro.plate("columns", D):
        return numpyro.sample(site, law)


def rows(X: Any, y: Any, law: Callable[[jax.Array], dist.Distribution], event: int = 1) -> None:
    """Rows with labels and one block, whose cells have this law given the labels."""
    pi = numpyro.sample("pi", dist.Dirichlet(PI))
    with numpyro.plate("rows", N if y is None else len(y)):
        y = numpyro.sample("y", dist.Categorical(pi), obs=y)
        numpyro.sample("x", law(y).to_event(event), obs=X)
