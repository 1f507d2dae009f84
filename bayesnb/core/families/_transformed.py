"""Numbers whose logarithms or logits another family has."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Hyperparameter, Params
from bayesnb.core.families._binomial import Binomial
from bayesnb.core.families._mapped import Mapped, MappedStatistics
from bayesnb.core.families._normal import Normal
from bayesnb.core.families._views import Views
from bayesnb.core.families.parts._mapped_cells import MAPS, MappedCells
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.families.parts._support import require_choice


@pytree
class LogSlopes(Statistics):
    """The sum of log dz/dx over rows, [K, D]."""

    log_base: Array
    axes = (("log_base", "KD"),)


@pytree
class Transformed(Mapped):
    """Numbers on an interval whose logarithm, or logit, another family has: z(x) ~ family, p(x) = p(z(x)) dz/dx.

    Class probabilities are the family's on z(x); p(x), the evidence, generated rows and explanations are of x, so that
    ``compare_evidence`` compares it with families of x itself. Maps and their slopes are in float64 for numpy rows.

    Args:
        family: A family of real numbers, such as ``nb.Normal()``, whose hyperparameters are those of z.
        transform: "log", of numbers above 0, or "logit", log(x / (1 - x)), of numbers between 0 and 1.

    Raises:
        ValueError: for another transform, and for families of anything but single real numbers; and in fits for cells
            outside of the interval. Where 0 is a value of its own, ``nb.Hurdle`` has it.

    Example:
        >>> import bayesnb as nb, numpyro.distributions as dist
        >>> tailed = nb.Transformed(nb.Likelihood(dist.StudentT, df=4.0), "log")
        >>> post = nb.fit_posterior(nb.NaiveBayes(tailed), [[1.0], [2.0], [90.0], [70.0]], [0, 0, 1, 1])
        >>> post.predict([[3.0], [60.0]]).tolist()
        [0, 1]
    """

    transform: str = field(default="log", metadata={"static": True})

    def __init__(self, family: Family, transform: str) -> None:
        require_choice(type(self).__name__, "transform", transform, tuple(MAPS))
        require_single(type(self).__name__, family)
        if family.support is not constraints.real or any(family.category_sizes(1)) or isinstance(family, Mapped):
            raise ValueError(
                f"Transformed takes a family of real numbers, such as nb.Normal(), got {family!r}, a family of "
                "counts, codes or numbers of an interval"
            )
        self.__dict__.update(parts=(family,), transform=transform)

    def __repr__(self) -> str:
        own, name = repr(self.parts[0]), type(self).__name__
        return f"{name}({own}, {self.transform!r})" if type(self) is Transformed else own.replace("Normal", name, 1)

    support = property(lambda self: MAPS[self.transform].support)

    def cells(self, x: Array) -> tuple[Array, ...]:
        return (MAPS[self.transform].z(x),)

    def back(self, *cells: Array) -> Array:
        return MAPS[self.transform].back(cells[0])

    def likelihood(self, params: Params) -> dist.Distribution:
        return self.of_cells(self.parts[0].likelihood(params))

    def of_cells(self, base: dist.Distribution) -> dist.Distribution:
        """The distribution of x if that of z(x) is ``base``."""
        return MappedCells(base, MAPS[self.transform])

    def statistics(self, x: Array, z: ClassSums) -> MappedStatistics:
        found = super().statistics(x, z)
        return MappedStatistics((*found.parts, LogSlopes(z.base(lambda: self._log_slope(x)))))

    def log_base_measure(self, statistics: MappedStatistics) -> Array:
        own, slopes = self.pooled([super().log_base_measure(statistics), statistics.parts[-1].log_base])
        return own + slopes

    def row_base_measure(self, x: Array) -> Array:
        own, slopes = super().row_base_measure(x), self._log_slope(x).sum(axis=1)
        return slopes if own is None else own + slopes

    def _log_slope(self, x: Array) -> Array:
        slope = MAPS[self.transform].slope(x)
        return either.where(either.isnan(slope), 0.0, slope)


@pytree
class LogNormal(Transformed):
    """Numbers above 0 whose logarithm is Normal: ``nb.Transformed(nb.Normal(...), "log")``.

    Args:
        **hyperparameters: Those of ``nb.Normal``, of log x; by default unit information about the columns' logarithms,
            so that neither a column's unit nor a power of it changes predictions.

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[1.0], [2.0], [4.0], [50.0], [60.0], [90.0]], [0, 0, 0, 1, 1, 1]
        >>> nb.fit_posterior(nb.NaiveBayes(nb.LogNormal()), X, y).predict_proba([[3.0], [30.0]]).round(2)
        array([[0.8 , 0.2 ],
               [0.25, 0.75]])
    """

    def __init__(self, **hyperparameters: Hyperparameter | str) -> None:
        super().__init__(Normal(**hyperparameters), "log")


@pytree
class LogitNormal(Transformed):
    """Numbers between 0 and 1 whose logit is Normal: ``nb.Transformed(nb.Normal(...), "logit")``.

    Args:
        **hyperparameters: Those of ``nb.Normal``, of log(x / (1 - x)).

    Example:
        >>> import bayesnb as nb
        >>> X, y = [[0.01], [0.02], [0.05], [0.9], [0.97], [0.99]], [0, 0, 0, 1, 1, 1]
        >>> nb.fit_posterior(nb.NaiveBayes(nb.LogitNormal()), X, y).predict([[0.03], [0.95]]).tolist()
        [0, 1]
    """

    def __init__(self, **hyperparameters: Hyperparameter | str) -> None:
        super().__init__(Normal(**hyperparameters), "logit")


def transformed(family: Family, transform: str) -> Transformed:
    """``Transformed(family, transform)``; of a Normal by its name."""
    found = Transformed(family, transform)
    if type(family) is Normal:
        found = object.__new__({"log": LogNormal, "logit": LogitNormal}[transform])
        found.__dict__.update(parts=(family,), transform=transform)
    return found


def require_single(owner: str, family: Any) -> None:
    """ValueError for anything but a family whose columns are features and whose cells are single numbers."""
    if not isinstance(family, Family):
        hint = f"{family.__name__}(...)" if isinstance(family, type) else "nb.Normal()"
        raise ValueError(f"{owner} takes a family such as {hint}, got {family!r}")
    if family.one_feature or isinstance(family, Views | Binomial):
        raise ValueError(f"{owner} takes a family of single numbers, such as nb.Normal(), got {family!r}")
