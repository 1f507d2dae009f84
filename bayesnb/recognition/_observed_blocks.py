"""The observed sites as blocks of a model: the parameters of each by class, named and shaped as its family has them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bayesnb.core.families._base import Family
from bayesnb.recognition._class_parameters import same
from bayesnb.recognition._points import Observed, Points
from bayesnb.recognition._reading import Reading
from bayesnb.recognition._user_program import NotNaiveBayes


class Values(NamedTuple):
    """A site's values at P points, [P, *shape], of which the last ``event`` axes are one draw."""

    values: Any
    event: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape at one point."""
        return tuple(self.values.shape[1:])

    @property
    def unit(self) -> int:
        """The number of elements of one draw."""
        return int(np.prod(self.shape[len(self.shape) - self.event :]))


@dataclass(frozen=True)
class Block:
    """An observed site: how its family is read, and by short name ``params`` at P points, [P, K, D, ...] or [P, D]."""

    name: str
    site: str
    reading: Reading
    params: dict[str, Values]
    common: tuple[str, ...]
    shape: tuple[int, ...]
    """Of one row."""
    totals: Any
    known: dict[str, Any]
    """Parameters that are no latents but hyperparameters of the family, by short name, [K, D]."""
    sampled: tuple[str, ...] = ()
    """Parameters with a prior that is the program itself, by short name."""

    @property
    def family(self) -> type[Family]:
        """Its class."""
        return self.reading.family

    @property
    def integrated(self) -> bool:
        """Whether its answers are integrals by quadrature."""
        return self.reading.integrates

    @property
    def num_columns(self) -> int:
        """D."""
        return int(np.prod(self.shape))

    def canonical(self, short: str) -> str:
        """The model's name of a parameter."""
        return f"{self.name}_{short}"

    def prior_terms(self, short: str, canonical: Mapping[str, Any], num_classes: int) -> tuple[Any, ...]:
        """The terms of a prior at parameters by canonical site; those of a common one have no class axis."""
        values = {s: canonical[self.canonical(s)] for s in self.params}
        if short in self.common:
            return self.reading.prior_terms(short, {s: values[s] for s in self.common})
        repeated = {s: np.repeat(values[s][:, None], num_classes, axis=1) for s in self.common}
        return self.reading.prior_terms(short, {**values, **repeated})

    def rows(self, value: Any, totals: Any, mask: Any) -> Any:
        """The block's cells [N, D] from the site's value; with their totals, if these differ between rows.

        Cells that the ``mask`` leaves out are NaN.
        """
        cells = np.array(value, np.float64).reshape(len(value), -1)
        if mask is not None:
            seen = np.asarray(mask).reshape(len(cells), -1)
            cells = np.where(seen, cells, np.nan)
        if totals is not None and not self.family.one_feature and self.fixed_totals is None:
            return cells, np.broadcast_to(np.asarray(totals, np.float64), np.shape(value)).reshape(cells.shape)
        return cells

    @property
    def fixed_totals(self) -> tuple[int, ...] | None:
        """The totals of each column, if all its observed cells have the same one."""
        totals = self.totals.reshape(len(self.totals), -1)
        largest = np.fmax.reduce(totals, axis=0)
        same = (totals == largest) | (np.isnan(totals) & ~np.isnan(largest))
        return tuple(largest.astype(int).tolist()) if same.all() else None


def make_blocks(
    observed: dict[str, Observed], tables: dict[str, Any], num_classes: int, by_quadrature: Collection[str] = ()
) -> list[Block]:
    """The blocks of the observed sites, given the parameters by class; some with quadrature in place of a family."""
    names = ["x"] if len(observed) == 1 else [re.sub(r"\W", "_", site) for site in observed]
    if len(set(names)) < len(names) or any(not name.isidentifier() for name in names):
        raise NotNaiveBayes(f"the observed sites {list(observed)} need names that are different Python identifiers")
    return [
        _block(name, site, observed[site], tables[site], num_classes, site in by_quadrature)
        for name, site in zip(names, observed, strict=True)
    ]


def _block(
    name: str, site: str, cells: Observed, tables: dict[str, Any], num_classes: int, by_quadrature: bool
) -> Block:
    shape, common, params = tuple(np.shape(cells.value)[1:]), [], {}
    if cells.reading.family.one_feature and len(shape) != 1:
        raise NotNaiveBayes(f"site {site!r} has cells of shape {shape} in each row: one vector a row is expected")
    reading, tables = cells.reading.simplify(tables)
    if by_quadrature:
        other = reading.integrated()
        if other is None:
            raise NotNaiveBayes(f"site {site!r} is a {reading.family.__name__}, which is not integrated numerically")
        reading, tables = other, {s: np.asarray(v) for s, v in reading.arguments(tables).items()}
    reading, fixed = _with_known(reading, tables, site)
    known = {short: values.reshape(num_classes, *_columns(reading, short, shape)) for short, values in fixed.items()}
    reading = reading if by_quadrature else reading.conjugate(known)
    for short, values in tables.items():
        if short in known:
            continue
        event, columns = reading.support(short).event_dim, _columns(reading, short, shape)
        table = values.reshape(len(values), num_classes, *columns, *values.shape[values.ndim - event :])
        may_be_common = short == getattr(reading.family, "may_be_common", "") and num_classes > 1
        if may_be_common and same(table, table[:, :1]).all() and not same(table[0], table[-1]).all():
            common.append(short)
            table = table[:, 0]
        params[short] = Values(table, event)
    totals = cells.totals
    if totals is not None:
        totals = np.where(True if cells.mask is None else cells.mask, totals, np.nan)
    return Block(name, site, reading, params, tuple(common), shape, totals, known)


def _columns(reading: Reading, short: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The number of columns of a parameter's table; none for a family of one feature, or for one column, `probs_3`."""
    of_one = "_" in short and short not in dict(reading.supports)
    return () if reading.family.one_feature or of_one else (int(np.prod(shape)),)


def _with_known(reading: Reading, tables: dict[str, Any], site: str) -> tuple[Reading, dict[str, Any]]:
    """That of a family in which parameters that are the same at all points are known, with their values, [K, ...]."""
    known = {short: values[0] for short, values in tables.items() if same(values, values[:1]).all()}
    if len(known) == len(tables):
        raise NotNaiveBayes(
            f"site {site!r} has no latent site among its parameters, only known numbers: nothing is to be learned "
            f"there; give {' or '.join(map(repr, known))} a prior"
        )
    special = {short: found for short in known if (found := reading.with_known(short)) is not None}
    return next(iter(special.values()), reading), {short: known[short] for short in special}


def find_class_probs(points: Points, label: str) -> tuple[Values | None, Any]:
    """The class probabilities as a canonical site, or fixed ones; both None if the label is an argument."""
    if points.label is None:
        return None, None
    probs = points.label
    if not same(probs, probs[:, :1]).all():
        raise NotNaiveBayes(
            f"site {label!r}, the label, has different probabilities in different rows: they may not depend on cells, "
            "nor on other labels"
        )
    probs = probs[:, 0]
    if same(probs, probs[:1]).all():
        return None, probs[0]
    return Values(probs, 1), None


FILLED: Mapping[str, float] = {"loc": 0.0}
"""Hyperparameters without effect, where a site has a prior of its own; the others are 1."""


def make_family(block: Block, found: Mapping[str, Any]) -> Any:
    """The family of a block with these hyperparameters."""
    cls, given = block.family, {**found, **block.known}
    given |= {name: FILLED.get(name, 1.0) for name, _ in cls.axes if name not in given and name != "scale"}
    if block.common:
        given[cls.may_be_common] = "shared"  # type: ignore[attr-defined]
    fields = {field.name for field in cls.__dataclass_fields__.values()}  # type: ignore[attr-defined]
    if "num_categories" in fields:
        sizes = tuple(values.shape[-1] for values in block.params.values())
        given["num_categories"] = sizes[0] if "probs" in block.params else sizes
    if "total_count" in fields:
        given["total_count"] = block.fixed_totals
    return block.reading.make(given)
