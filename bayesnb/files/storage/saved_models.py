"""Check models and statistics loaded from files like user input, but with the shapes of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesnb.arrays.pytree import fields_of
from bayesnb.families.parts.support import require_axes
from bayesnb.model.declarations import check_families
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.rows import arguments
from bayesnb.rows.checks import match_statistics
from bayesnb.rows.statistics import ModelStatistics


def check_model(model: NaiveBayes) -> None:
    """Raise ValueError unless the model is one that a user could define, or that data could resolve."""
    families, columns = model.families, model.columns
    check_families(families)
    if not isinstance(model.single, bool) or (model.single and list(families) != ["x"]):
        raise ValueError(f"the only block of a model is named 'x', got single={model.single!r} with {list(families)}")
    sizes = set(columns.values())
    if set(columns) != set(families) or not (sizes == {None} or all(type(size) is int and size >= 0 for size in sizes)):
        raise ValueError(f"columns must be the number of columns of each block {list(families)}, got {columns!r}")
    concentration = model.class_concentration
    if concentration is None or np.ndim(concentration) > 1 or np.size(concentration) == 0:
        raise ValueError(f"class_concentration must be a number, or one for each class, got {concentration!r}")
    if model.resolved:
        _check_resolved(model)
    else:
        for family in families.values():
            type(family)(**{field.name: getattr(family, field.name) for field in fields_of(family)})
    NaiveBayes(
        families["x"] if model.single else families,
        class_concentration=model.class_concentration,
        class_probs=model.class_probs,
        num_classes=model.num_classes,
        priors=model.priors,
    )


def _check_resolved(model: NaiveBayes) -> None:
    num_classes = arguments.check_num_classes(model.num_classes)
    if num_classes is None:
        raise ValueError("num_classes must be a positive int in a model that data have resolved, got None")
    values, axes = {"class_concentration": model.class_concentration}, (("class_concentration", "K"),)
    require_axes("NaiveBayes", values, axes, {"K": num_classes})
    for name, family in model.families.items():
        columns: Any = model.columns[name]
        if family.declared_columns not in (None, columns):
            raise ValueError(f"block {name!r} has {columns} columns, and its family {family.declared_columns}")
        family.check_resolved(name, num_classes, columns)
        family.check_fit(np.zeros((0, columns)), name)


def check_statistics(statistics: ModelStatistics, model: NaiveBayes | None = None) -> None:
    """Raise ValueError unless the statistics are possible for some rows (of the model, if given)."""
    counts = statistics.class_counts
    require_axes("statistics", {"class_counts": counts}, (("class_counts", "K"),), {"K": np.size(counts)})
    if not ((np.asarray(counts) >= 0) & np.isfinite(np.asarray(counts, np.float64))).all():
        raise ValueError("statistics: class_counts must be finite and not negative")
    if not statistics.blocks:
        raise ValueError("statistics must have at least one block")
    for name, of_block in statistics.blocks.items():
        of_block.check(name, len(counts))
    if model is None:
        return
    match_statistics(model.families, model.num_classes, model.resolved, statistics)
    for name, columns in model.columns.items():
        if columns not in (None, found := statistics.blocks[name].num_columns):
            raise ValueError(f"block {name!r} has {columns} columns in the model and {found} in the statistics")
