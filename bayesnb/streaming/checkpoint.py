"""A checkpoint: the statistics of what has been counted, how far that is, and of what.

It is replaced as a whole: whoever is stopped, at any moment, leaves a whole one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb import tensors
from bayesnb.nodes import fields_of
from bayesnb.statistics import ModelStatistics, Specification, sufficient_statistics
from bayesnb.streaming.blocks import Position, Source, StreamError

FORMAT = "bayesnb stream 2"

LEAST_SECONDS = 5.0
"""From one writing to the next."""

SHARE = 0.02
"""Of the time, at most, goes into writing."""


class Counted(NamedTuple):
    """What has been counted: ``statistics`` of the rows up to ``position``, None where there are none.

    ``num_classes`` is K, ``classes`` what the integers 0..K-1 stand for where labels are not integers.
    """

    statistics: ModelStatistics | None
    position: Position
    num_classes: int
    classes: list[Any] | None
    finished: bool = False


class Checkpoint:
    """The checkpoint at ``path`` of one model and one source.

    What it must agree with is what statistics know of a model: its blocks with their families, not hyperparameters.
    """

    def __init__(self, path: str | os.PathLike[str], model: Specification, source: Source) -> None:
        self._path, self._model, self._source = Path(path), model, source
        self._of = {"model": _description(model), "source": source.description()}
        self._due = time.monotonic() + LEAST_SECONDS
        if not self._path.parent.is_dir():
            raise StreamError(f"there is no folder '{self._path.parent}' for the checkpoint '{self._path.name}'")

    def load(self, num_classes: int | None, classes: list[Any] | None) -> Counted | None:
        """What was counted before, or None where there is no checkpoint yet; K and the classes are as declared.

        Raises:
            StreamError: where it is damaged, or of another model or source.
        """
        if not self._path.exists():
            return None
        try:
            header, arrays = tensors.read(self._path)
            if header["format"] != FORMAT:
                raise ValueError(f"its format is {header['format']!r}, not {FORMAT!r}")
        except (OSError, ValueError, KeyError) as error:
            raise StreamError(
                f"the checkpoint '{self._path}' is damaged or no checkpoint ({error}): delete it to start over"
            ) from error
        for key, mine in self._of.items():
            self._compare(f"another {key}", header["of"][key], mine)
        self._compare("another number of classes", header["num_classes"], num_classes or header["num_classes"])
        self._compare("other classes", header["classes"], classes or header["classes"])
        position = Position(*header["position"])
        self._compare("other files", header["read"], self._source.read(position))
        statistics = self._rebuilt(arrays, header["num_classes"]) if arrays else None
        return Counted(statistics, position, header["num_classes"], header["classes"], header["finished"])

    def _compare(self, what: str, there: Any, here: Any) -> None:
        here = json.loads(json.dumps(here))
        if there != here:
            raise StreamError(
                f"the checkpoint '{self._path}' is of {what}: {_difference(there, here)}; "
                "give another path, or delete it to start over"
            )

    def _rebuilt(self, arrays: Mapping[str, np.ndarray[Any, Any]], num_classes: int) -> ModelStatistics:
        """The arrays in the structure that statistics of no rows have."""
        none = sufficient_statistics(self._model, self._source.empty(), np.zeros(0, int), num_classes=num_classes)
        keys, structure = jax.tree_util.tree_flatten_with_path(none)
        return jax.tree.unflatten(structure, [arrays[jax.tree_util.keystr(key)] for key, _ in keys])

    def save_when_due(self, counted: Counted) -> None:
        """As ``save``, but for when it was done a moment ago."""
        if time.monotonic() >= self._due:
            self.save(counted)

    def save(self, counted: Counted) -> None:
        """Writes it beside the old one and puts it in its place.

        Raises:
            StreamError: where it cannot be written.
        """
        start = time.monotonic()
        leaves = jax.tree_util.tree_flatten_with_path(counted.statistics)[0]
        arrays = {jax.tree_util.keystr(key): np.asarray(leaf) for key, leaf in leaves}
        header = {
            "format": FORMAT,
            "of": self._of,
            "position": counted.position,
            "read": self._source.read(counted.position),
            "num_classes": counted.num_classes,
            "classes": counted.classes,
            "finished": counted.finished,
        }
        try:
            tensors.write(self._path, header, arrays)
        except (OSError, ValueError) as error:
            raise StreamError(f"the checkpoint '{self._path}' cannot be written: {error}") from error
        end = time.monotonic()
        self._due = end + max(LEAST_SECONDS, (end - start) / SHARE)


def _description(model: Specification) -> dict[str, Any]:
    """Blocks in their order, each by its family's name and sizes; an array [N, D] or a dict of arrays."""

    def sizes(family: Any) -> dict[str, str]:
        return {f.name: repr(getattr(family, f.name)) for f in fields_of(family) if f.metadata.get("static")}

    families = [[name, type(family).__name__, sizes(family)] for name, family in model.families.items()]
    return {"single": model.single, "blocks": families}


def _difference(there: Any, here: Any) -> str:
    """The first part in which two values of JSON differ."""
    if isinstance(there, dict) and isinstance(here, dict) and set(there) == set(here):
        key = next(key for key in there if there[key] != here[key])
        return f"{key} {_difference(there[key], here[key])}"
    if isinstance(there, list) and isinstance(here, list):
        there, here = next(pair for pair in zip_longest(there, here, fillvalue="nothing") if pair[0] != pair[1])
    return f"{there!r} instead of {here!r}"
