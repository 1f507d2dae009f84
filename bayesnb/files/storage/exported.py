"""Load exported predictions and serve them, without NumPyro and data frames, so that a process starts quickly.

An exported file is a program. ``load_exported`` accepts it only if every operation, also of the gradients, is
arithmetic on arrays (``operations``): none reads files, calls Python, talks to other devices or calls native code, but
for JAX's Cholesky factors and triangular solvers. A function from an untrusted source may still run forever, use much
memory, or return something other than probabilities. Passing the bytes to ``jax.export`` directly skips these checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays import either
from bayesnb.arrays.loops import require_jax
from bayesnb.arrays.placement import on_host, pad_rows
from bayesnb.arrays.typing import Array, Rows
from bayesnb.files.storage.exported_estimator import ExportedEstimator
from bayesnb.files.storage.operations import ForeignOperation, require_arithmetic
from bayesnb.files.storage.results import Source, StorageError, is_named, name_of, read_format
from bayesnb.numerics.log_prob import logsumexp

KIND, VERSION = "bayesnb exported", 1
"""The kind of file, and the version of its format."""

FUNCTIONS = ("predict_log_proba", "log_joint")
"""The exported methods of the fit."""

NO_FLATBUFFERS = "to read and write functions JAX needs flatbuffers: pip install flatbuffers"


def load_exported(path: Source) -> ExportedClassifier | ExportedEstimator:
    """Load a file written by ``export``, ready to predict: an ``ExportedEstimator`` if an estimator was exported.

    Args:
        path: The path of the file, its bytes, or a file that is open for reading bytes.

    Raises:
        StorageError: if the file cannot be read, is damaged, was not written by ``export``, was written by a later
            version of bayesnb or JAX, or has functions that do more than arithmetic, which are named and not run.

    Example:
        >>> import io, bayesnb as nb
        >>> fit, file = nb.fit_map(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1]), io.BytesIO()
        >>> nb.export(fit, file, platforms=["cpu"])
        >>> nb.load_exported(file.getvalue()).fit
        'PointEstimate'
    """
    if is_named(path, ".onnx"):
        raise StorageError(f"{name_of(path)} is an ONNX file, which onnxruntime reads: onnxruntime.InferenceSession")
    header, arrays = read_format(path, KIND, VERSION, "nb.export")
    try:
        functions = {name: jax.export.deserialize(bytearray(arrays[name])) for name in FUNCTIONS}
        for function in functions.values():
            require_arithmetic(function)
        classifier = ExportedClassifier(header["fit"], functions)
    except ForeignOperation as error:
        raise StorageError(f"{name_of(path)} is refused, and nothing of it was run: it holds {error}") from error
    except ImportError as error:
        raise StorageError(NO_FLATBUFFERS) from error
    except Exception as error:  # malformed bytes can raise anything
        raise StorageError(
            f"{name_of(path)} holds functions of JAX {header.get('jax')} that JAX {jax.__version__} cannot read: "
            f"{type(error).__name__}, {error}"
        ) from error
    if "estimator" not in header:
        return classifier
    try:
        return ExportedEstimator(classifier, header["estimator"], arrays)
    except Exception as error:  # as above
        raise StorageError(f"{name_of(path)} does not describe a valid estimator: {error!r}") from error


class ExportedClassifier:
    """An exported fit: it has the functions in its file, and nothing else of the fit.

    X is an array [N, D], or a dict of arrays by block, as for the fit; results are JAX arrays. Gradients are available
    to first order, ``vmap`` is not. Blocks, columns and types are checked; cells outside a likelihood's support give
    meaningless numbers, as inside ``jax.jit``. JAX rows are compiled for each number of rows, numpy rows for few.

    Attributes:
        fit: The name of the fit's type.
        functions: ``predict_log_proba`` and ``log_joint``, each a ``jax.export.Exported``.

    Example:
        >>> import io, bayesnb as nb
        >>> fit, file = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0]], [0, 0, 1]), io.BytesIO()
        >>> nb.export(fit, file, platforms=["cpu"])
        >>> [round(float(p), 2) for p in nb.load_exported(file.getvalue()).predict_proba([[1]])[0]]
        [0.77, 0.23]
    """

    def __init__(self, fit: str, functions: dict[str, jax.export.Exported]) -> None:
        self.fit, self.functions = fit, functions
        one = functions["log_joint"]
        ((rows,), _) = jax.tree.unflatten(one.in_tree, one.in_avals)
        self._single = not isinstance(rows, dict)
        by_name = {"x": rows} if self._single else rows
        self._blocks = {name: _Block.of(block) for name, block in by_name.items()}
        self._dtype, self.num_classes = one.out_avals[0].dtype, int(one.out_avals[0].shape[1])

        def of_blocks(function: jax.export.Exported, arrays: dict[str, Array]) -> jax.Array:
            return function.call(self._unpack(arrays))

        log_proba, log_joint = (partial(of_blocks, functions[name]) for name in FUNCTIONS)
        self._compiled: dict[str, Callable[[dict[str, Array]], jax.Array]] = {
            "predict_log_proba": jax.jit(log_proba),
            "predict_proba": jax.jit(lambda arrays: jnp.exp(log_proba(arrays))),
            "predict": jax.jit(lambda arrays: log_proba(arrays).argmax(axis=-1)),
            "log_joint": jax.jit(log_joint),
            "log_density": jax.jit(lambda arrays: logsumexp(log_joint(arrays))),
        }

    def log_joint(self, X: Rows) -> jax.Array:
        """log p(y = k, x) of each row, [N, K]; -inf if the class is impossible."""
        return self._answer("log_joint", X)

    def log_density(self, X: Rows) -> jax.Array:
        """log p(x) = log sum_k p(y = k, x) of each row, [N]; low for outliers."""
        return self._answer("log_density", X)

    def predict_log_proba(self, X: Rows) -> jax.Array:
        """log p(y = k | x), [N, K]. If all classes are impossible, those with the fewest impossible features remain."""
        return self._answer("predict_log_proba", X)

    def predict_proba(self, X: Rows) -> jax.Array:
        """p(y = k | x), [N, K]; each row sums to one."""
        return self._answer("predict_proba", X)

    def predict(self, X: Rows) -> jax.Array:
        """The most probable class of each row, integers [N]."""
        return self._answer("predict", X)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}[{block.declared_columns}]" for name, block in self._blocks.items())
        platforms = ", ".join(self.functions["log_joint"].platforms)
        return f"ExportedClassifier({self.fit}, {columns}, {self.num_classes} classes, {self._dtype} on {platforms})"

    def _answer(self, name: str, X: Any) -> jax.Array:
        require_jax()
        arrays, compiled = self._rows(X), self._compiled[name]
        num_rows = next(iter(arrays.values())).shape[0]
        if not num_rows:  # the functions need at least one row, which padding gives
            arrays = {block: np.zeros(x.shape, self._dtype) for block, x in arrays.items()}
        if not on_host(arrays):
            return compiled(arrays)
        with jax.core.eval_context():  # compute concrete rows at once, also inside a caller's jit
            answer = compiled({block: pad_rows(x) for block, x in arrays.items()})
            return jnp.asarray(np.asarray(answer)[:num_rows])

    def _rows(self, X: Any) -> dict[str, Array]:
        """Check rows and cast them to the functions' precision; by block, with pairs concatenated."""
        arrays = self._plain(X) or self._check_rows(X)
        if jnp.result_type(float) != self._dtype and self._dtype == np.float64:
            raise ValueError(
                "these functions were exported in float64: call them under jax.enable_x64(True), or export them in "
                "float32"
            )
        with np.errstate(over="ignore"):
            cast = {name: x.astype(self._dtype) for name, x in arrays.items()}
        for name, x in cast.items():
            if isinstance(x, np.ndarray) and np.isinf(x).any():
                column, row = np.argwhere(np.isinf(x).T)[0]
                raise ValueError(
                    f"block {name!r}, column {column}: a cell must be a finite number in {self._dtype}, or NaN if "
                    f"missing, got {arrays[name][row, column]}"
                )
        return cast

    def _plain(self, X: Any) -> dict[str, Array] | None:
        """Rows by block if they are numpy arrays of the right shapes, which need no other check; else None."""
        given = {"x": X} if self._single else X
        if not isinstance(given, dict) or given.keys() != self._blocks.keys():
            return None
        if not all(type(x) is np.ndarray and x.ndim == 2 and x.dtype.kind in "fiub" for x in given.values()):
            return None
        num_rows = len(next(iter(given.values())))
        shapes = {name: (num_rows, block.declared_columns * block.parts) for name, block in self._blocks.items()}
        return given if all(given[name].shape == shape for name, shape in shapes.items()) else None

    def _check_rows(self, X: Any) -> dict[str, Array]:
        return _row_checks()(self._blocks, self._single, X)

    def _unpack(self, arrays: dict[str, Array]) -> Any:
        X = {name: block.unpack(arrays[name]) for name, block in self._blocks.items()}
        return X["x"] if self._single else X


@cache
def _row_checks() -> Callable[..., dict[str, Array]]:
    """The checks of rows, of blocks of exported functions besides families."""
    from bayesnb.rows.checks import (
        check_shapes,  # imports NumPyro
        columns_in,
        pack,
    )

    pack.register(_Block, _Block.pack)
    columns_in.register(_Block, _Block.columns_in)
    return check_shapes


@dataclass(frozen=True)
class _Block:
    """The part of a family's interface that the row checks need: the number of columns and of arrays."""

    declared_columns: int
    parts: int

    takes_sparse: ClassVar[bool] = False

    @classmethod
    def of(cls, block: Any) -> _Block:
        parts = block if isinstance(block, tuple) else (block,)
        return cls(parts[0].shape[1], len(parts))

    def columns_in(self, x: Array) -> int:
        return x.shape[1] // self.parts

    def pack(self, parts: tuple[Array, ...], block: str) -> Array:
        """Rows as one array; a pair is concatenated along columns."""
        if len(parts) != self.parts:
            expected = "a pair (successes, totals)" if self.parts == 2 else "one array [N, D]"
            raise ValueError(f"block {block!r} must be {expected}, got {len(parts)} array{'s' * (len(parts) > 1)}")
        shapes = {part.shape for part in parts}
        if len(shapes) > 1:
            raise ValueError(f"block {block!r}: successes and totals must have one shape, got {shapes}")
        return parts[0] if self.parts == 1 else either.concatenate(parts, axis=1)

    def unpack(self, x: Array) -> Any:
        """The inverse of ``pack``."""
        return x if self.parts == 1 else (x[:, : self.declared_columns], x[:, self.declared_columns :])
