"""Parameters and rows of a model by name: its own names, or those of a program that it is spelled like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpyro

from bayesnb.arrays.typing import Array, LabelsLike, ObservedRows, Rows
from bayesnb.families.base import Family, Hyperparameter
from bayesnb.model.spelling import Spelling
from bayesnb.model.tilt import tilt

Sites = dict[str, Array]
"""Parameters by site name: ``class_probs`` [K], and ``block_name`` [K, D, ...]."""


class Parameters:
    """What a model calls its parameters and rows."""

    families: dict[str, Family]
    class_concentration: Hyperparameter
    single: bool

    spelling: Spelling | None = None
    """How a program names and shapes its parameters and rows, if the model shows them like that program."""

    source: Callable[..., ObservedRows] | None = None
    """The function of ``rows``. It is no part of the pytree, as functions cannot be saved, nor compared by content."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "source"}

    def rows(self, *args: object, **kwargs: object) -> ObservedRows:
        """What the program of ``from_numpyro`` observes in its arguments, NaN where masked: rows X of fits to it.

        New arguments may lack the labels. If the program observes other rows than its arguments, everything that takes
        X for the model, or for a fit of it, takes these alone. Where rows depend on each other, as when a program
        standardises them, they are those of these arguments together, and a warning says so.

        Raises:
            ValueError: if the program fails, and for models that were loaded, or made by a fit or a transformation.

        Example:
            >>> import numpy as np, jax.numpy as jnp, numpyro, numpyro.distributions as dist, bayesnb as nb
            >>> def logs(X, y):
            ...     mu = numpyro.sample("mu", dist.Normal(0.0, 9.0).expand([2]))
            ...     numpyro.sample("x", dist.Normal(mu[y], 1.0), obs=jnp.log(X))
            >>> X, y = np.array([1.0, 2.0, 50.0, 90.0]), np.array([0, 0, 1, 1])
            >>> model = nb.from_numpyro(logs, (X, y), label="y")
            >>> nb.fit_posterior(model, model.rows(X, y), y).predict(model.rows(np.array([3.0, 80.0])))
            array([0, 1])
        """
        if self.source is None:
            raise ValueError(
                "model.rows is not available in a model that was loaded, or made by a fit or a transformation: call it "
                "of the model that nb.from_numpyro returned"
            )
        return self.source(self, *args, **kwargs)

    def sites(self) -> list[str]:
        """The names of the parameters' sites."""
        own = ["class_probs", *(f"{b}_{site}" for b, f in self.families.items() for site in f.sites)]
        return own if self.spelling is None else self.spelling.names(own)

    def common_sites(self) -> set[str]:
        """The model's own sites that all classes share: they have no class axis."""
        return {f"{b}_{site}" for b, f in self.families.items() for site in f.common_sites}

    def own_params(self, params: Mapping[str, Array]) -> Mapping[str, Array]:
        """Parameters by the model's own sites, whatever its spelling."""
        return params if self.spelling is None else self.spelling.read(params)

    def spell(self, own: Sites) -> Sites:
        """Parameters by the model's own sites as its spelling has them."""
        return own if self.spelling is None else self.spelling.write(own)

    def _collect(self, class_probs: Array, blocks: Mapping[str, Mapping[str, Array]]) -> Sites:
        named = {f"{b}_{site}": value for b, params in blocks.items() for site, value in params.items()}
        return self.spell({"class_probs": class_probs, **named})

    def by_block(self, X: Rows) -> Rows:
        """Rows by block; given by the sites of the program, if the model is spelled like one."""
        return X if self.spelling is None else self.spelling.rows(X, self.single)

    def own_rows(self, X: Rows) -> Rows:
        """Rows by block as the program has them, and as what it observes, if the model is spelled like one."""
        return X if self.spelling is None else self.spelling.own_rows(X, self.single)

    def labels_of(self, y: LabelsLike) -> LabelsLike:
        """Labels [N]; a program may have them as a column [N, 1]."""
        given: Any = y
        return y if self.spelling is None or np.shape(given)[1:] != (1,) else given.reshape(-1)

    def class_probs_of(self, params: Mapping[str, Array]) -> Array:
        """The class probabilities among the parameters, [..., K]."""
        return self.own_params(params)["class_probs"]

    def block_params(self, params: Mapping[str, Array]) -> dict[str, Sites]:
        """Parameters by block and short name."""
        params = self.own_params(params)
        return {b: {site: params[f"{b}_{site}"] for site in f.sites} for b, f in self.families.items()}

    def tilt(self) -> tuple[dict[str, Family], Hyperparameter]:
        """The families and the class concentration whose densities are those of the program's own parameters."""
        tilts = {} if self.spelling is None else self.spelling.tilts()
        families = dict(self.families)
        for block, family in self.families.items():
            for site in family.sites:
                if f"{block}_{site}" in tilts:
                    families[block] = tilt(families[block], site, tilts[f"{block}_{site}"])
        # only two classes have a probability that is a function of one latent: p^q (1 - p)^q
        return families, self.class_concentration + tilts.get("class_probs", (0.0,))[0]


def without_columns(family: Family, block: str) -> dict[str, Array]:
    """The empty parameters of a block without columns, which has no sample sites."""
    return {site: numpyro.deterministic(f"{block}_{site}", value) for site, value in family.mode().items()}
