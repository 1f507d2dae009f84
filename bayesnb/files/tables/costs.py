"""Read the costs of decisions from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from bayesnb.frames.classes import number_of_class
from bayesnb.frames.number_texts import is_number
from bayesnb.frames.series import Array, DataError, listing


def read_costs(path: Path, classes: Array) -> Array:
    """The costs [K, K] of a file with a line for each true class and a column for each decision.

    The first line names the decisions, after a cell of any text; what the file leaves out is 0 for the true class, and
    1 for any other.

    Raises:
        DataError: if the file cannot be read, names no class or one twice, or has other cells than numbers.
    """
    try:
        header, *lines = csv.reader(path.read_text(encoding="utf-8-sig").splitlines())
    except (ValueError, csv.Error) as error:
        raise DataError(f"'{path}' has no costs: give a CSV file with a header line, such as class,ham,spam") from error
    lines = [line for line in lines if line]
    trues = [number_of_class(line[0].strip(), classes) for line in lines]
    decisions = [number_of_class(name.strip(), classes) for name in header[1:]]
    if not (trues and decisions) or len({*trues}) < len(trues) or len({*decisions}) < len(decisions):
        raise DataError(f"'{path}' must have a line for each true class and a column for each decision, each once")
    costs = 1.0 - np.eye(len(classes))
    for true, line in zip(trues, lines, strict=True):
        if len(line) != len(header) or not all(map(is_number, line[1:])):
            raise DataError(
                f"'{path}' holds {listing(line[1:])} in the line of '{line[0]}': give one number for each of the "
                f"decisions {listing(header[1:])}"
            )
        costs[true, decisions] = [*map(float, line[1:])]
    return costs
