"""Values of their own beside a family: zeros, sentinels, missing cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.core.families._base import Family, Hyperparameter, Params
from bayesnb.core.families._categorical import Categorical
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families._mapped import Mapped
from bayesnb.core.families._transformed import require_single
from bayesnb.core.families.parts._mapped_cells import HurdleCells, OrValues, find, place


@pytree
class Hurdle(Mapped):
    """Values of their own beside a family: theta_kd ~ Dirichlet(concentration), x_nd | y_n = k is the value a with
    probability theta_kda, and of the family with the last probability.

    Zero incomes, a sentinel such as 99, or missing cells: each value in ``at`` has a probability in each class, and the
    family has the others, as if those were missing. So it is two blocks, a ``Categorical`` of which value a cell has
    and the family of the rest, whose terms are one feature. With NaN in ``at`` a missing cell speaks: that it is
    missing depends on the class. Mullahy, Specification and testing of some modified count data models (1986).

    Args:
        family: A family of numbers with a density, such as ``nb.LogNormal()``; any of single cells if NaN is the only
            value.
        at: A number, NaN, or several of these.
        concentration: Of the probabilities of the values, in the order of ``at``, and of the rest: as of
            ``Categorical``.

    Sites: the family's, and ``block_atoms`` [K, D, A + 1] on the simplex.

    Raises:
        ValueError: for no values, equal ones or infinite ones, and for families that give them a probability.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0.0], [0.0], [3.0], [4.0], [5.0], [0.0]], [0, 0, 0, 1, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Hurdle(nb.LogNormal(), at=0.0)), X, y)
        >>> post.predict_proba([[0.0]]).round(2)  # (1 + 2) / (2 + 3) against (1 + 1) / (2 + 3)
        array([[0.6, 0.4]])
    """

    at: tuple[float | None, ...] = field(default=(), metadata={"static": True})

    def __init__(self, family: Family, at: float | Sequence[float], concentration: Hyperparameter = 1.0) -> None:
        require_single("Hurdle", family)
        try:
            numbers = np.asarray(at, np.float64).ravel()
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        # None, as NaN differs from itself
        values = tuple(None if np.isnan(number) else float(number) for number in numbers)
        if not values or len({*values}) < len(values) or np.isinf(numbers).any():
            raise ValueError(f"Hurdle: at must be a finite number, NaN, or several that differ, got {at!r}")
        discrete = isinstance(family, Hurdle) or any(family.category_sizes(1)) or family.support.is_discrete
        if discrete and (values != (None,) or not family.support.is_discrete):
            raise ValueError(
                f"Hurdle takes a family with a density, such as nb.LogNormal(), got {family!r}, which gives values a "
                "probability: of counts only missing cells are a value of their own, at=numpy.nan, and of codes these "
                "are one code more"
            )
        self.__dict__.update(parts=(family, Categorical(len(values) + 1, concentration)), at=values)

    def __repr__(self) -> str:
        values = [np.nan if value is None else value for value in self.at]
        return f"Hurdle({self.parts[0]!r}, at={values[0] if len(values) == 1 else tuple(values)})"

    def __getattr__(self, name: str) -> Any:
        return self.parts[1].concentration if name == "concentration" else super().__getattr__(name)

    def _replace(self, **changes: Any) -> Self:
        if "concentration" in changes:
            changes["parts"] = self.parts[0], self.parts[1]._replace(concentration=changes.pop("concentration"))
        return super()._replace(**changes)

    axes = property(lambda self: (*self.parts[0].axes, ("concentration", "KA")))
    positive = property(lambda self: (*self.parts[0].positive, "concentration"))
    sites = property(lambda self: (*self.parts[0].sites, "atoms"))
    support = property(lambda self: OrValues(self.parts[0].support, self.at))
    num_classes = property(lambda self: self.parts[0].num_classes or self.parts[1].num_classes)

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {**self.parts[0].axis_sizes(num_classes, num_columns), "A": num_columns * (len(self.at) + 1)}

    @property
    def value_names(self) -> tuple[str, ...]:
        """The values and the rest, as words."""
        return (*("NaN" if value is None else f"{value:g}" for value in self.at), "other")

    def cells(self, x: Array) -> tuple[Array, ...]:
        code = find(x, self.at)
        return either.where(code == len(self.at), x, np.nan), code

    def back(self, *cells: Array) -> Array:
        rest, code = cells
        return place(rest, code, self.at)

    def own(self, params: Params) -> tuple[Params, ...]:
        return {name: value for name, value in params.items() if name != "atoms"}, {"probs": params["atoms"]}

    def join(self, parts: Sequence[Params]) -> Params:
        return {**parts[0], "atoms": parts[1]["probs"]}

    def params(self, block: str) -> Params:
        found = self.parts[0].params(block)
        concentration = jnp.reshape(self.concentration, (-1, self.num_columns, len(self.at) + 1))
        with plates(block, concentration.shape[:2]):
            return {**found, "atoms": numpyro.sample(f"{block}_atoms", dist.Dirichlet(concentration))}

    def check_params(self, params: Params, block: str) -> None:
        self.each(lambda part, *own: part.check_params(*own), self.own(params), (block, f"{block}_atoms"))

    def likelihood(self, params: Params) -> dist.Distribution:
        own, _ = self.own(params)
        return HurdleCells(self.parts[0].likelihood(own), params["atoms"], self.at)

    def check(self, x: Array, block: str) -> None:
        self.parts[0].check(self.cells(x)[0], block)

    def seen(self, x: Array) -> Array | None:
        return None if None in self.at else super().seen(x)
