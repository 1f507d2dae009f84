"""Export predictions as functions in StableHLO, which any program with JAX can run without bayesnb.

The fit's parameters become constants of two functions of rows, ``predict_log_proba`` and ``log_joint``, each [N, K],
from which all other predictions follow. They take any number N of rows, run on several kinds of devices, and have
gradients.

An exported file is a program. ``load_exported`` accepts it only if every operation, also of the gradients, is
arithmetic on arrays (``operations``). No operation may read or write files, call Python, communicate with other devices
or call native code, except JAX's Cholesky factors and triangular solvers with arrays of matching sizes. Any other
operation is refused, by name, before compilation. A function from an untrusted source may still run forever, use much
memory, or return something other than probabilities. Passing the bytes to ``jax.export`` directly skips these checks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.forked import require_jax
from bayesnb.arrays.placement import Array, is_traced, namespace, on_host, pad_rows, to_double
from bayesnb.families.parts.support import first_bad
from bayesnb.files.storage.operations import ForeignOperation, require_arithmetic
from bayesnb.files.storage.results import StorageError, read_format, require_place, write_format
from bayesnb.numerics.log_prob import logsumexp
from bayesnb.results.classifier import Classifier
from bayesnb.rows.checks import check_shapes

KIND, VERSION = "bayesnb exported", 1
"""The kind of file, and the version of its format."""

FUNCTIONS = ("predict_log_proba", "log_joint")
"""The exported methods of the fit."""

PLATFORMS = ("cpu", "cuda", "tpu")
"""The default platforms to export for, by JAX's names."""

KNOWN_PLATFORMS = (*PLATFORMS, "rocm")
"""All platforms that JAX supports; it would silently accept any other name."""

NO_FLATBUFFERS = "to read and write functions JAX needs flatbuffers: pip install flatbuffers"


def export(fit: Classifier, path: str | os.PathLike[str], *, platforms: Sequence[str] = PLATFORMS) -> None:
    """Export the predictions of a fit to a file, for programs that have only JAX.

    The functions take float32 rows, or float64 rows if JAX computes in float64 during the export (``jax.enable_x64``),
    and return what the fit returns inside ``jax.jit``. ``load_exported`` reads them. A program without bayesnb can call
    them as follows, with X an array [N, D] or a dict of arrays by block, where a Binomial block may be a pair
    (successes, totals)::

        stored = safetensors.numpy.load_file(path)["predict_log_proba"]
        log_proba = jax.export.deserialize(bytearray(stored)).call(X)

    The file is in safetensors format and written atomically. Later versions of JAX can read it for as long as JAX
    guarantees for exported functions: at least six months.

    Args:
        fit: A result of a ``fit_`` function that has ``predict_log_proba``.
        path: The file; its folder must exist.
        platforms: The platforms to run on, by JAX's names: "cpu", "cuda", "tpu" or "rocm".

    Raises:
        StorageError: if ``fit`` is not such a fit, JAX cannot export it, or the file cannot be written.
    """
    if not isinstance(fit, Classifier):
        raise StorageError(
            f"export takes a fit that has predict_log_proba, got {type(fit).__name__}: fit a model first, or give the "
            "estimate of a Bootstrap, a label of a MultiLabel or the fit_ of an estimator"
        )
    if is_traced(fit):
        raise StorageError("a fit inside a JAX transformation has no values yet: export it outside the transformation")
    if isinstance(platforms, str) or not platforms or not set(platforms) <= set(KNOWN_PLATFORMS):
        raise StorageError(f"platforms must be a list of some of {KNOWN_PLATFORMS}, got {platforms!r}")
    require_place(Path(path))
    try:
        # constants are computed from the parameters in float64 and rounded once
        arrays = {name: _serialise(getattr(to_double(fit), name), _rows(fit), platforms) for name in FUNCTIONS}
    except ImportError as error:
        raise StorageError(NO_FLATBUFFERS) from error
    except Exception as error:  # JAX raises many types, depending on function and platform
        reason = str(error).splitlines()[0]
        raise StorageError(f"this {type(fit).__name__} cannot be exported for {platforms}: {reason}") from error
    header = {"fit": type(fit).__name__, "jax": jax.__version__}
    write_format(Path(path), KIND, VERSION, header, arrays)


def load_exported(path: str | os.PathLike[str]) -> ExportedClassifier:
    """Load a file written by ``export``, ready to predict.

    Raises:
        StorageError: if the file cannot be read, is damaged, was not written by ``export``, was written by a later
            version of bayesnb or JAX, or has functions that do more than arithmetic, which are named and not run.
    """
    source = Path(path)
    header, arrays = read_format(source, KIND, VERSION, "nb.export")
    try:
        functions = {name: jax.export.deserialize(bytearray(arrays[name])) for name in FUNCTIONS}
        for function in functions.values():
            require_arithmetic(function)
        return ExportedClassifier(header["fit"], functions)
    except ForeignOperation as error:
        raise StorageError(f"'{source}' is refused, and nothing of it was run: it holds {error}") from error
    except ImportError as error:
        raise StorageError(NO_FLATBUFFERS) from error
    except Exception as error:  # malformed bytes can raise anything
        raise StorageError(
            f"'{source}' holds functions of JAX {header.get('jax')} that JAX {jax.__version__} cannot read: "
            f"{type(error).__name__}, {error}"
        ) from error


class ExportedClassifier:
    """An exported fit: it has the functions in its file, and nothing else of the fit.

    X is an array [N, D], or a dict of arrays by block, as for the fit; results are JAX arrays, inside jit and outside.
    Gradients are available to first order; ``vmap`` is not available, because the functions are already vectorised over
    rows. Blocks, columns, types and overflow in the functions' precision are checked; cells outside a likelihood's
    support give meaningless numbers, as inside ``jax.jit``.

    numpy rows are padded to a power of two, so few compilations serve any number of rows; with JAX rows, each new
    number of rows is compiled.

    Attributes:
        fit: The name of the fit's type.
        functions: ``predict_log_proba`` and ``log_joint``, each a ``jax.export.Exported``.
    """

    def __init__(self, fit: str, functions: dict[str, jax.export.Exported]) -> None:
        self.fit, self.functions = fit, functions
        one = functions["log_joint"]
        ((rows,), _) = jax.tree.unflatten(one.in_tree, one.in_avals)
        self._single = not isinstance(rows, dict)
        by_name = {"x": rows} if self._single else rows
        self._blocks = {name: _Block.of(block) for name, block in by_name.items()}
        self._dtype, self.num_classes = one.out_avals[0].dtype, int(one.out_avals[0].shape[1])
        log_proba, log_joint = (self._unpack_rows(functions[name]) for name in FUNCTIONS)
        self._compiled: dict[str, Callable[[dict[str, Array]], jax.Array]] = {
            "predict_log_proba": jax.jit(log_proba),
            "predict_proba": jax.jit(lambda arrays: jnp.exp(log_proba(arrays))),
            "predict": jax.jit(lambda arrays: log_proba(arrays).argmax(axis=-1)),
            "log_joint": jax.jit(log_joint),
            "log_density": jax.jit(lambda arrays: logsumexp(log_joint(arrays))),
        }

    def log_joint(self, X: Any) -> jax.Array:
        """log p(y = k, x) of each row, [N, K]; -inf if the class is impossible."""
        return self._answer("log_joint", X)

    def log_density(self, X: Any) -> jax.Array:
        """log p(x) = log sum_k p(y = k, x) of each row, [N]; low for outliers."""
        return self._answer("log_density", X)

    def predict_log_proba(self, X: Any) -> jax.Array:
        """log p(y = k | x), [N, K]. If all classes are impossible, those with the fewest impossible features remain."""
        return self._answer("predict_log_proba", X)

    def predict_proba(self, X: Any) -> jax.Array:
        """p(y = k | x), [N, K]; each row sums to one."""
        return self._answer("predict_proba", X)

    def predict(self, X: Any) -> jax.Array:
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
        with jax.ensure_compile_time_eval():  # compute concrete rows at once, also inside a caller's jit
            answer = compiled({block: pad_rows(x) for block, x in arrays.items()})
            return jnp.asarray(np.asarray(answer)[:num_rows])

    def _rows(self, X: Any) -> dict[str, Array]:
        """Check rows and cast them to the functions' precision; by block, with pairs concatenated."""
        blocks: Any = self._blocks
        arrays = check_shapes(blocks, self._single, X)
        if jnp.result_type(float) != self._dtype and self._dtype == np.float64:
            raise ValueError(
                "these functions were exported in float64: call them under jax.enable_x64(True), or export them in "
                "float32"
            )
        return {name: self._cast(x, name) for name, x in arrays.items()}

    def _cast(self, x: Array, block: str) -> Array:
        with np.errstate(over="ignore"):
            cast = x.astype(self._dtype)
        if isinstance(cast, np.ndarray) and np.isinf(cast).any():
            row, column = first_bad(np.isinf(cast))
            raise ValueError(
                f"block {block!r}, column {column}: a cell must be a finite number in {self._dtype}, or NaN if "
                f"missing, got {x[row, column]}"
            )
        return cast

    def _unpack_rows(self, function: jax.export.Exported) -> Callable[[dict[str, Array]], jax.Array]:

        def call(arrays: dict[str, Array]) -> jax.Array:
            X = {name: block.unpack(arrays[name]) for name, block in self._blocks.items()}
            return function.call(X["x"] if self._single else X)

        return call


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
        xp = jnp if any(namespace(part) is jnp for part in parts) else np
        return parts[0] if self.parts == 1 else xp.concatenate(parts, axis=1)

    def unpack(self, x: Array) -> Any:
        """The inverse of ``pack``."""
        return x if self.parts == 1 else (x[:, : self.declared_columns], x[:, self.declared_columns :])


def _rows(fit: Classifier) -> Any:
    """The shapes and types of X for the fit, with a symbolic number of rows."""
    (num_rows,) = jax.export.symbolic_shape("rows")

    def block(name: str, columns: int | None) -> Any:
        one = jax.ShapeDtypeStruct((num_rows, columns), jnp.result_type(float))
        family = fit.model.families[name]
        return (one,) * family.num_parts if family.num_parts > 1 else one

    blocks = {name: block(name, columns) for name, columns in fit.columns().items()}
    return blocks["x"] if fit.model.single else blocks


def _serialise(function: Callable[[Any], Array], rows: Any, platforms: Sequence[str]) -> Array:
    """The function and its gradient as bytes."""
    exported = jax.export.export(jax.jit(function), platforms=platforms)(rows)
    content = exported.serialize(vjp_order=1)
    require_arithmetic(jax.export.deserialize(content))  # otherwise load_exported would refuse it
    return np.frombuffer(content, np.uint8)
