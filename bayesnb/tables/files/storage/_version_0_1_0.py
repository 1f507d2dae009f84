"""Read files of version 0.1.0: what it saved otherwise, as what it is saved as today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from bayesnb.compute.arrays._placement import fields_of
from bayesnb.core.families import Family, NormalScores
from bayesnb.core.families._categorical import CategoricalStatistics
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.families.priors._normal_inverse_gamma import NormalStatistics
from bayesnb.learned.forests._pairs import JointStatistics, PairStatistics
from bayesnb.tables.frames._blocks import AnySchema
from bayesnb.tables.frames._columns import Column
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.sklearn._settings import has_powers, has_views

Fields = dict[str, Any]


def renew(name: str, fields: Fields) -> tuple[str, Fields]:
    """The name and the fields of a part of a result, as this version has them; those of this version unchanged."""
    if "weights" in fields and name.endswith("Posterior"):
        fields = {("powers" if field == "weights" else field): value for field, value in fields.items()}
    match name:
        case "FrameSchema":
            return "Schema", fields
        case "ArraySchema":
            return "Schema", _schema_of_array(fields)
        case "BlocksSchema":
            return name, {"parts": {block: _named(part, block) for block, part in fields["parts"].items()}}
        case "Views" if "families" not in fields:
            return name, {"families": _views({"found": False, "variance": "own", **fields})}
        case "ForestStatistics" if isinstance(fields["pairs"], dict):
            return name, fields | {"pairs": _pairs(fields["pairs"], fields["blocks"])}
        case "ForestPosterior" if isinstance(fields["pairs"], dict):
            return name, fields | {"pairs": _pairs(fields["pairs"], fields["posterior"].statistics.blocks)}
    return name, fields


def renew_params(params: Fields, schema: AnySchema, fit: Any) -> Fields:
    """The parameters of an estimator, whose method "posterior" was then the default and learned powers of some fits."""
    if "dependence" in params or params["method"] != "posterior" or params["temper"] is not None:
        return params
    learned = has_powers(fit) or has_views(schema, fit.prior)
    return params | ({"method": "default", "dependence": False} if learned else {})


def _named(part: Schema, block: str) -> Schema:
    """A part of several blocks, which knew no name of its own."""
    return part if part.prefix else replace(part, prefix=block)


def _schema_of_array(fields: Fields) -> Fields:
    """The columns of an array, from the kinds of all of them and their families."""
    sizes, columns = iter(fields["sizes"]), []
    for kind, run in groupby(fields["kinds"]):
        width = len([*run])
        if kind == "categorical":
            columns += [Column("", kind, range(next(sizes))) for _ in range(width)]
        elif kind in fields["own"]:
            columns.append(Column("", "own", family=fields["own"][kind], own_block=kind.lower(), width=width))
        else:
            columns.append(Column("", kind, inferred=fields["inferred"], width=width))
    return {"columns": tuple(columns), "informative": fields.get("informative", ()), "named": False}


def _views(fields: Fields) -> tuple[Any, ...]:
    """The families of ``Views``, whose fields stood side by side, and their names in order."""
    views = tuple(object.__new__(Family.known.get(name, NormalScores)) for name in fields["views"])
    for one in views:
        one.__dict__.update({field.name: fields[field.name] for field in fields_of(type(one))})
    return views


def _pairs(fields: Fields, blocks: Mapping[str, Any]) -> PairStatistics:
    """The pairs of the blocks with these statistics.

    The file has counts of two categories [K, S, S]; the moments of real columns by category [K, S, J]; and those of two
    real columns [K, J, J].
    """
    sizes, counts = tuple(size for size in fields["sizes"] if size), np.asarray(fields["counts"])
    labels, parts = len(counts) * sum(sizes), dict[str, Statistics]()
    reals = [name for name, one in blocks.items() if isinstance(one, NormalStatistics)]
    ends = np.cumsum([blocks[name].num_columns for name in reals])
    for name, end in zip(reals if labels else [], ends, strict=False):
        own = slice(end - blocks[name].num_columns, end)
        tables = (np.asarray(fields[table])[:, :, own] for table in ("count", "mean", "squares"))
        parts[name] = NormalStatistics(*(np.array(table.reshape(labels, table.shape[2])) for table in tables))
    joint = JointStatistics(*(fields[name] for name in ("both", "centre", "spread", "product")))
    return PairStatistics(CategoricalStatistics(counts.reshape(labels, sum(sizes)), sizes), parts, joint)
