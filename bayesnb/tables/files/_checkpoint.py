"""Checkpoints of a stream, replaced atomically, so that an interruption at any moment leaves a valid one."""

from __future__ import annotations

import json
import os
import time
from functools import singledispatch
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import fields_of
from bayesnb.core.families._views import Views
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._labelled_rows import Specification
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, sufficient_statistics
from bayesnb.core.storage import _tensors as tensors
from bayesnb.core.storage._kinds import rebuild
from bayesnb.core.storage._whole_file import require_file
from bayesnb.learned.forests._fit import forest_statistics
from bayesnb.tables.files._progress import logger
from bayesnb.tables.files.sources._source import Position, StreamError
from bayesnb.tables.files.sources._streams import BlockSource

Arrays = dict[str, np.ndarray[Any, Any]]

FORMAT = "bayesnb stream 2"


class StreamState(NamedTuple):
    """The result so far: ``statistics`` of the rows up to ``position``, or None if there are none.

    ``num_classes`` is K; ``classes`` are the labels that 0..K-1 encode, None if labels are integers.
    """

    statistics: ModelStatistics | None
    position: Position
    num_classes: int
    classes: list[Any] | None
    finished: bool = False


class Checkpoint:
    """The checkpoint at ``path`` for one source and models of the same blocks and families, with pairs or without.

    Hyperparameters may differ, because the statistics do not depend on them.
    """

    def __init__(
        self, path: str | os.PathLike[str], model: Specification, source: BlockSource, *, pairs: bool = False
    ) -> None:
        self._path, self._model, self._source, self._pairs = Path(path), model, source, pairs
        blocks = [[name, type(family).__name__, _sizes(family)] for name, family in model.families.items()]
        of_model = {"single": model.single, "blocks": blocks} | ({"pairs": True} if pairs else {})
        self._of = {"model": of_model, "source": source.description()}
        self._due = time.monotonic() + limits.CHECKPOINT_SECONDS
        if not self._path.parent.is_dir():
            raise StreamError(f"there is no folder '{self._path.parent}' for the checkpoint '{self._path.name}'")
        try:
            require_file(self._path)
        except OSError as error:
            raise StreamError(f"the checkpoint cannot be '{self._path}': {error.strerror or error}") from error

    def load(self, num_classes: int | None, classes: list[Any] | None) -> StreamState | None:
        """The earlier result, or None if there is no checkpoint yet; K and the classes are those the user declared.

        StreamError if the checkpoint is damaged, or belongs to another model or source.
        """
        if not self._path.exists():
            return None
        try:
            header, arrays = tensors.read(self._path)
            state = self._read_state(header, arrays, num_classes, classes)
        except StreamError:
            raise
        except Exception as error:  # a malformed file can raise anything
            words = str(error) if isinstance(error, OSError | ValueError) else f"its header is incomplete: {error}"
            raise StreamError(
                f"the checkpoint '{self._path}' is damaged, or is not a checkpoint ({words}): delete it to start over"
            ) from error
        logger.info(f"checkpoint '{self._path}': going on after {state.position.rows:,} rows")
        return state

    def _read_state(
        self, header: dict[str, Any], arrays: Arrays, num_classes: int | None, classes: list[Any] | None
    ) -> StreamState:
        if header.get("format") != FORMAT:
            raise ValueError(f"its format is {header.get('format')!r}, not {FORMAT!r}")
        for key, mine in self._of.items():
            self._compare(f"another {key}", header["of"][key], mine)
        known, names, numbers = (header[key] for key in ("num_classes", "classes", "position"))
        arguments.check_counts(num_classes=known)
        if names is not None and (not isinstance(names, list) or len(names) != known):
            raise ValueError(f"classes must be {known} labels, got {names!r}")
        self._compare("another number of classes", known, num_classes or known)
        self._compare("other classes", names, classes or names)
        if [type(number) for number in numbers] != [int] * 3 or min(numbers) < 0:
            raise ValueError(f"position must be three whole numbers, got {numbers!r}")
        position = Position(*numbers)
        if position.rows and not arrays:
            raise ValueError(f"its arrays must be those of {position.rows} rows, got {list(arrays)}")
        self._compare("other files", header["read"], self._source.read(position))
        statistics = self._rebuild(arrays, known) if arrays else None
        return StreamState(statistics, position, known, names, header["finished"] is True)

    def _compare(self, what: str, there: Any, here: Any) -> None:
        here = json.loads(json.dumps(here))
        if there != here:
            raise StreamError(
                f"the checkpoint '{self._path}' is of {what}: {_difference(there, here)}; "
                "give another path, or delete it to start over"
            )

    def _rebuild(self, arrays: Arrays, num_classes: int) -> ModelStatistics:
        """The statistics with these arrays, in the structure of the statistics of zero rows."""
        summarise = forest_statistics if self._pairs else sufficient_statistics
        none = summarise(self._model, self._source.empty(), np.zeros(0, int), num_classes=num_classes)
        keys, structure = jax.tree_util.tree_flatten_with_path(none)
        wanted = {jax.tree_util.keystr(key): leaf for key, leaf in keys}
        if set(arrays) != set(wanted):
            raise ValueError(f"its arrays must be {list(wanted)}, got {list(arrays)}")
        for name, leaf in wanted.items():
            if arrays[name].shape != leaf.shape or arrays[name].dtype.kind not in "iuf":
                raise ValueError(f"{name} must be numbers of the shape {leaf.shape}, got {arrays[name].shape}")
        statistics = jax.tree.unflatten(structure, [arrays[name] for name in wanted])
        return rebuild(statistics)

    def save(self, state: StreamState, *, only_if_due: bool = False) -> None:
        """Write the checkpoint, replacing the old one atomically; StreamError if it cannot be written."""
        start = time.monotonic()
        if only_if_due and start < self._due:
            return
        leaves = jax.tree_util.tree_flatten_with_path(state.statistics)[0]
        arrays = {jax.tree_util.keystr(key): np.asarray(leaf) for key, leaf in leaves}
        header = {
            "format": FORMAT,
            "of": self._of,
            "position": state.position,
            "read": self._source.read(state.position),
            "num_classes": state.num_classes,
            "classes": state.classes,
            "finished": state.finished,
        }
        try:
            tensors.write(self._path, header, arrays)
        except (OSError, ValueError) as error:
            raise StreamError(f"the checkpoint '{self._path}' cannot be written: {error}") from error
        logger.info(f"checkpoint '{self._path}': saved with {state.position.rows:,} rows")
        end = time.monotonic()
        self._due = end + max(limits.CHECKPOINT_SECONDS, (end - start) / limits.CHECKPOINT_SHARE)


@singledispatch
def _sizes(family: Any) -> dict[str, str]:
    return {f.name: repr(getattr(family, f.name)) for f in fields_of(family) if f.metadata.get("static")}


@_sizes.register(Views)
def _(family: Any) -> dict[str, str]:
    names = tuple(type(one).__name__ for one in family.families)
    return _sizes(family.generative) | {"views": repr(names)}


def _difference(there: Any, here: Any) -> str:
    """Describe the first difference between two JSON values."""
    if isinstance(there, dict) and isinstance(here, dict) and set(there) == set(here):
        key = next(key for key in there if there[key] != here[key])
        return f"{key} {_difference(there[key], here[key])}"
    if isinstance(there, list) and isinstance(here, list):
        there, here = next(pair for pair in zip_longest(there, here, fillvalue="nothing") if pair[0] != pair[1])
    return f"{there!r} instead of {here!r}"
