"""Numbers whose logarithms or logits another family has, and values of their own beside a family."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, pytree
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.compute.primitives.sums import ClassSums
from bayesnb.core.families._base import Family, Hyperparameter, Params, left_out
from bayesnb.core.families._binomial import Binomial
from bayesnb.core.families._categorical import Categorical
from bayesnb.core.families._hyperparameters import plates
from bayesnb.core.families._normal import Normal
from bayesnb.core.families._views import Views
from bayesnb.core.families.parts._mapped_cells import MAPS, HurdleCells, MappedCells, OrValues, find, place
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.families.parts._support import require_cells, require_choice


@pytree
class LogSlopes(Statistics):
    """The sum of log dz/dx over rows, [K, D]."""

    log_base: Array
    axes = (("log_base", "KD"),)


def _of_each(method: str) -> Any:
    """A method of statistics, applied to each part."""

    def call(whole: Any, *given: Any) -> Any:
        parts = [
            getattr(part, method)(*(one.parts[i] if isinstance(one, MappedStatistics) else one for one in given))
            for i, part in enumerate(whole.parts)
        ]
        return type(whole)(tuple(parts))

    return call


@pytree
class MappedStatistics(Statistics):
    """The statistics of each part's cells; the first is that of the family whose cells are mapped."""

    parts: tuple[Any, ...]

    merge, pool, minus, discount = map(_of_each, ("merge", "pool", "minus", "discount"))
    spread_classes, check, require_part = map(_of_each, ("spread_classes", "check", "require_part"))

    @property
    def num_columns(self) -> int:
        return int(self.parts[0].num_columns)

    @property
    def observed_cells(self) -> Array | None:
        """Those of the first part: cells with a density."""
        found: Array | None = self.parts[0].observed_cells
        return found


@pytree
class Mapped(Family):
    """A family of maps of cells: log p(x | k) is the sum of the parts' log p(x_i | k), each at its own map of x.

    The first part is the family that was given. Its hyperparameters are also the whole's, by the same names.
    """

    parts: tuple[Any, ...]

    statistics_type = MappedStatistics

    def __post_init__(self) -> None:
        for part in self.parts:
            part.__post_init__()

    def __getattr__(self, name: str) -> Any:
        if name == "parts" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.parts[0], name)

    def _replace(self, **changes: Any) -> Self:
        own = {name: changes.pop(name) for name in [*changes] if name in self.__dict__}
        if changes:
            own["parts"] = (self.parts[0]._replace(**changes), *own.get("parts", self.parts)[1:])
        return super()._replace(**own)

    @abstractmethod
    def cells(self, x: Array) -> tuple[Array, ...]:
        """The cells of each part, NaN where they are missing to it."""

    @abstractmethod
    def back(self, *cells: Array) -> Array:
        """Generated cells, of those of the parts."""

    def own(self, params: Params) -> tuple[Params, ...]:
        """The parameters of each part."""
        return (params,)

    def join(self, parts: Sequence[Params]) -> Params:
        """The parameters of all parts."""
        return parts[0]

    def map(self, change: Callable[..., Any], *others: Sequence[Any]) -> Self:
        """The same with other parts, each ``change(part, *what belongs to it)``."""
        return self._replace(parts=tuple(self.each(change, *others)))

    def each(self, function: Callable[..., Any], *others: Sequence[Any]) -> list[Any]:
        """The function of each part and what belongs to it."""
        return [function(*one) for one in zip(self.parts, *others, strict=False)]

    # hyperparameters

    axes = property(lambda self: self.parts[0].axes)  # type: ignore[assignment]
    sites = property(lambda self: self.parts[0].sites)  # type: ignore[assignment]
    common_sites = property(lambda self: self.parts[0].common_sites)  # type: ignore[assignment]
    declared_columns = property(lambda self: self.parts[0].declared_columns)  # type: ignore[assignment]
    num_classes = property(lambda self: self.parts[0].num_classes)  # type: ignore[assignment]
    num_columns = property(lambda self: self.parts[0].num_columns)  # type: ignore[assignment]

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        sizes: Mapping[str, int] = self.parts[0].axis_sizes(num_classes, num_columns)
        return sizes

    def defaults(self, pooled: MappedStatistics) -> Params:
        found: Params = self.parts[0].defaults(pooled.parts[0])
        return found

    def resolve(self, pooled: MappedStatistics, num_classes: int) -> Self:
        return self.map(lambda part, own: part.resolve(own, num_classes), pooled.parts)

    # parameters and statistics

    def params(self, block: str) -> Params:
        found: Params = self.parts[0].params(block)
        return found

    def check_params(self, params: Params, block: str) -> None:
        self.each(lambda part, own: part.check_params(own, block), self.own(params))

    def statistics(self, x: Array, z: ClassSums) -> MappedStatistics:
        return MappedStatistics(tuple(self.each(lambda part, cells: part.statistics(cells, z), self.cells(x))))

    def update(self, statistics: MappedStatistics) -> Self:
        return self.map(lambda part, own: part.update(own), statistics.parts)

    def reference(self) -> Params:
        return self.join(self.each(lambda part: part.reference()))

    def mode(self) -> Params:
        return self.join(self.each(lambda part: part.mode()))

    def mle(self, statistics: MappedStatistics) -> Params:
        return self.join(self.each(lambda part, own: part.mle(own), statistics.parts))

    # terms

    def likelihood_tables(self, params: Params) -> tuple[Any, ...]:
        return tuple(self.each(lambda part, own: part.likelihood_tables(own), self.own(params)))

    def likelihood_scorer(self, tables: tuple[Any, ...]) -> Score:
        return self._score(self.each(lambda part, own: part.likelihood_scorer(own), tables))

    def predictive_tables(self) -> tuple[Any, ...]:
        return tuple(self.each(lambda part: part.predictive_tables()))

    def predictive_scorer(self, tables: tuple[Any, ...]) -> Score:
        return self._score(self.each(lambda part, own: part.predictive_scorer(own), tables))

    def _score(self, scores: Sequence[Score]) -> Score:
        return lambda x: reduce(
            LogProb.times, (score(cells) for score, cells in zip(scores, self.cells(x), strict=True))
        )

    def log_likelihood_terms(self, params: Params, x: Array) -> LogProb:
        terms = self.each(
            lambda part, own, cells: part.log_likelihood_terms(own, cells), self.own(params), self.cells(x)
        )
        return reduce(LogProb.times, terms)

    def log_likelihood_ratio(self, statistics: MappedStatistics, params: Params, reference: Params) -> Array:
        given = statistics.parts, self.own(params), self.own(reference)
        return sum(self.each(lambda part, *own: part.log_likelihood_ratio(*own), *given), jnp.zeros(()))

    def row_base_measure(self, x: Array) -> Array | None:
        found = self.each(lambda part, cells: part.row_base_measure(cells), self.cells(x))
        return reduce(lambda a, b: b if a is None else a if b is None else a + b, found)

    def log_predictive_terms(self, x: Array) -> Array:
        return sum(self.each(lambda part, cells: part.log_predictive_terms(cells), self.cells(x)), jnp.zeros(()))

    def _left_out(self, method: str, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Any:
        given = statistics.parts, self.cells(x)
        return sum(self.each(lambda part, own, cells: getattr(part, method)(own, cells, y, weight), *given))

    def left_out_terms(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("left_out_terms", statistics, x, y, weight)

    def leave_one_out_terms(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("leave_one_out_terms", statistics, x, y, weight)

    def leave_one_out(self, statistics: MappedStatistics, x: Array, y: Array, weight: Array) -> Array:
        return self._left_out("leave_one_out", statistics, x, y, weight)

    # evidence

    def log_partition(self) -> Array:
        return self._total(self.each(lambda part: part.log_partition()))

    def log_partition_ratio(self, statistics: MappedStatistics) -> Array:
        return self._total(self.each(lambda part, own: part.log_partition_ratio(own), statistics.parts))

    def log_base_measure(self, statistics: MappedStatistics) -> Array:
        return self._total(self.each(lambda part, own: part.log_base_measure(own), statistics.parts))

    def _total(self, tables: Sequence[Array]) -> Array:
        """The sum of tables [K, D], one row if the classes share a parameter; of 0 for one that has none."""
        return sum(
            (t.sum(axis=0, keepdims=True) if self.common_sites and jnp.ndim(t) else t for t in tables), jnp.zeros(())
        )


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
        _require_family(type(self).__name__, family)
        if family.support is not constraints.real or any(family.category_sizes(1)):
            raise ValueError(
                f"Transformed takes a family of real numbers, such as nb.Normal(), got {family!r}, a family of "
                "counts, codes or numbers of an interval"
            )
        self.__dict__.update(parts=(family,), transform=transform)

    def __repr__(self) -> str:
        return f"Transformed({self.parts[0]!r}, {self.transform!r})"

    @property
    def support(self) -> Any:  # type: ignore[override]
        return MAPS[self.transform].support

    def cells(self, x: Array) -> tuple[Array, ...]:
        return (MAPS[self.transform].both(x)[0],)

    def back(self, *cells: Array) -> Array:
        return MAPS[self.transform].back(cells[0])

    def check(self, x: Array, block: str) -> None:
        change = MAPS[self.transform]
        inside = lambda cells: change.inside(cells) | either.isnan(cells)  # noqa: E731
        expected = f"a cell of {self!r} is {change.cells} or NaN (missing)"
        require_cells(x, inside, block, expected, f"values of their own are nb.Hurdle(nb.{self!r}, {change.ends})")

    def likelihood(self, params: Params) -> dist.Distribution:
        return self.of_cells(self.parts[0].likelihood(params))

    def of_cells(self, base: dist.Distribution) -> dist.Distribution:
        """The distribution of x if that of z(x) is ``base``."""
        return MappedCells(base, MAPS[self.transform])

    def statistics(self, x: Array, z: ClassSums) -> MappedStatistics:
        found = super().statistics(x, z)
        return MappedStatistics((*found.parts, LogSlopes(z.base(lambda: self._log_slope(x)))))

    def log_base_measure(self, statistics: MappedStatistics) -> Array:
        return self._total([super().log_base_measure(statistics), statistics.parts[-1].log_base])

    def row_base_measure(self, x: Array) -> Array:
        own, slopes = super().row_base_measure(x), self._log_slope(x).sum(axis=1)
        return slopes if own is None else own + slopes

    def _log_slope(self, x: Array) -> Array:
        slope = MAPS[self.transform].both(x)[1]
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
        array([[0.9 , 0.1 ],
               [0.09, 0.91]])
    """

    def __init__(self, **hyperparameters: Any) -> None:
        super().__init__(Normal(**hyperparameters), "log")

    def __repr__(self) -> str:
        return repr(self.parts[0]).replace("Normal", "LogNormal", 1)


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

    def __init__(self, **hyperparameters: Any) -> None:
        super().__init__(Normal(**hyperparameters), "logit")

    def __repr__(self) -> str:
        return repr(self.parts[0]).replace("Normal", "LogitNormal", 1)


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

    Sites: the family's, and ``block_at_probs`` [K, D, A + 1] on the simplex.

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

    def __init__(self, family: Family, at: Any, concentration: Hyperparameter = 1.0) -> None:
        _require_family("Hurdle", family)
        try:
            numbers = np.asarray(at, np.float64).ravel()
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        values = tuple(None if np.isnan(a) else float(a) for a in numbers)
        if not values or len(set(values)) < len(values) or np.isinf(numbers).any():
            raise ValueError(f"Hurdle: at must be a finite number, NaN, or several that differ, got {at!r}")
        if isinstance(family, Hurdle) or any(family.category_sizes(1)):
            raise ValueError(f"Hurdle takes a family of numbers, such as nb.LogNormal(), got {family!r}: {MORE}")
        if family.support.is_discrete and values != (None,):
            raise ValueError(
                f"Hurdle takes a family with a density, such as nb.LogNormal(), got {family!r}, which gives {at!r} a "
                "probability; beside it only missing cells are a value of their own, at=numpy.nan"
            )
        self.__dict__.update(parts=(family, Categorical(len(values) + 1, concentration)), at=values)

    def __repr__(self) -> str:
        values = [np.nan if value is None else value for value in self.at]
        return f"Hurdle({self.parts[0]!r}, at={values[0] if len(values) == 1 else tuple(values)})"

    def __getattr__(self, name: str) -> Any:
        return self.parts[1].concentration if name == "at_concentration" else super().__getattr__(name)

    def _replace(self, **changes: Any) -> Self:
        if "at_concentration" in changes:
            atoms = self.parts[1]._replace(concentration=changes.pop("at_concentration"))
            changes["parts"] = (self.parts[0], atoms)
        return super()._replace(**changes)

    @property
    def axes(self) -> Any:  # type: ignore[override]
        return (*self.parts[0].axes, ("at_concentration", "KA"))

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        return {**super().axis_sizes(num_classes, num_columns), "A": num_columns * (len(self.at) + 1)}

    @property
    def sites(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*self.parts[0].sites, "at_probs")

    @property
    def num_classes(self) -> int | None:  # type: ignore[override]
        return self.parts[0].num_classes or self.parts[1].num_classes

    def own(self, params: Params) -> tuple[Params, ...]:
        return {name: value for name, value in params.items() if name != "at_probs"}, {"probs": params["at_probs"]}

    def join(self, parts: Sequence[Params]) -> Params:
        return {**parts[0], "at_probs": parts[1]["probs"]}

    def params(self, block: str) -> Params:
        found, atoms = super().params(block), self.parts[1]
        concentration = jnp.reshape(atoms.concentration, (-1, self.num_columns, len(self.at) + 1))
        with plates(block, concentration.shape[:2]):
            return {**found, "at_probs": numpyro.sample(f"{block}_at_probs", dist.Dirichlet(concentration))}

    def check_params(self, params: Params, block: str) -> None:
        own, of_values = self.own(params)
        self.parts[0].check_params(own, block)
        self.parts[1].check_params(of_values, f"{block}_at")

    def likelihood(self, params: Params) -> dist.Distribution:
        own, of_values = self.own(params)
        return HurdleCells(self.parts[0].likelihood(own), of_values["probs"], self.at)

    @property
    def support(self) -> Any:  # type: ignore[override]
        return OrValues(self.parts[0].support, self.at)

    def seen(self, x: Array) -> Array | None:
        return None if None in self.at else super().seen(x)

    def check(self, x: Array, block: str) -> None:
        self.parts[0].check(self.cells(x)[0], block)

    def cells(self, x: Array) -> tuple[Array, ...]:
        code = find(x, self.at)
        return either.where(code == len(self.at), x, np.nan), code

    def back(self, *cells: Array) -> Array:
        rest, code = cells
        return place(rest, code, self.at)


MORE = "a value of its own is one more in at, or one more category"


def _require_family(owner: str, family: Any) -> None:
    if not isinstance(family, Family):
        hint = f"{family.__name__}(...)" if isinstance(family, type) else "nb.Normal()"
        raise ValueError(f"{owner} takes a family such as {hint}, got {family!r}")
    if family.one_feature or isinstance(family, Views | Binomial) or not hasattr(family.support, "is_discrete"):
        raise ValueError(f"{owner} takes a family of single columns, such as nb.Normal(), got {family!r}")


def whole(family: Any, *of_family: Any) -> Iterator[tuple[Any, ...]]:
    """A family with what belongs to it, such as statistics; of mapped cells each part with its own."""
    if not isinstance(family, Mapped):
        yield (family, *of_family)
        return
    for i, part in enumerate(family.parts):
        yield from whole(part, *(one.parts[i] for one in of_family))


@left_out.register(Mapped)
def _(family: Mapped, statistics: MappedStatistics, y: Array, weight: Array) -> Callable[[Array, Array, Array], Array]:
    of_parts = family.each(lambda part, own: left_out(part, own, y, weight), statistics.parts)

    def terms(x: Array, *labels: Array) -> Array:
        found: Array = sum(part(cells, *labels) for part, cells in zip(of_parts, family.cells(x), strict=True))
        return found

    return terms
