"""Functions in files do arithmetic: whatever else they hold is refused by its name, before it is compiled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb
from bayesnb.files.storage import tensors
from bayesnb.files.storage.exported import FUNCTIONS
from bayesnb.files.storage.operations import ForeignOperation, require_arithmetic

ROWS = jax.ShapeDtypeStruct((2, 3), jnp.float32)
MATRIX = jax.ShapeDtypeStruct((4, 3, 3), jnp.float32)


def exported(function, *args, targets=(), vjp_order=0):
    checks = [jax.export.DisabledSafetyCheck.custom_call(target) for target in targets]
    content = jax.export.export(jax.jit(function), disabled_checks=checks, platforms=["cpu"])(*args)
    return content.serialize(vjp_order=vjp_order)


def call(target, result=ROWS, **attributes):
    return lambda *args: jax.ffi.ffi_call(target, result)(*args, **attributes)


@jax.custom_vjp
def harmless(x):
    return x + 1.0


harmless.defvjp(lambda x: (x + 1.0, x), lambda x, _: (call("evil_gradient")(x),))

FOREIGN = {
    "a call": (call("evil"), "a call of 'evil', which bayesnb never exports", ["evil"]),
    "a call inside": (lambda x: jnp.where(x > 0, jax.jit(call("evil"))(x), x), "a call of 'evil'", ["evil"]),
    "a call in the gradient": (harmless, "a call of 'evil_gradient'", ["evil_gradient"]),
    "an operation": (lambda x: jax.lax.rng_uniform(0.0, 1.0, (2, 3)) * x, "the operation 'stablehlo.rng'", []),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_anything_else_is_refused_by_its_name_and_not_run(kind, tmp_path):
    function, message, targets = FOREIGN[kind]
    bad = np.frombuffer(exported(function, ROWS, targets=targets, vjp_order=kind == "a call in the gradient"), np.uint8)
    good = np.frombuffer(exported(jnp.abs, ROWS), np.uint8)
    for name in FUNCTIONS:
        header = {"format": "bayesnb exported 1", "fit": "Posterior", "jax": jax.__version__}
        tensors.write(tmp_path / "file", header, {**dict.fromkeys(FUNCTIONS, good), name: bad})
        with pytest.raises(nb.StorageError, match=f"is refused, and nothing of it was run: it holds {message}"):
            nb.load_exported(tmp_path / "file")


def checked(function, *args, targets=()):
    require_arithmetic(jax.export.deserialize(bytearray(exported(function, *args, targets=targets))))


def test_matrices_of_sizes_that_native_code_does_not_take():
    checked(lambda x: jax.lax.linalg.triangular_solve(jnp.linalg.cholesky(x), x, left_side=False, lower=True), MATRIX)
    small = jax.ShapeDtypeStruct((4, 2, 2), jnp.float32)
    status = jax.ShapeDtypeStruct((4,), jnp.int32)
    wide = jax.ShapeDtypeStruct((4, 3, 2), jnp.float32)
    factor, solver = "lapack_spotrf_ffi", "lapack_strsm_ffi"
    settings = {
        "diag": np.uint8(ord("N")),
        "side": np.uint8(ord("L")),
        "trans_x": np.uint8(ord("N")),
        "uplo": np.uint8(ord("L")),
    }
    for function, args in [
        (call(factor, (small, status), uplo=np.uint8(ord("L"))), [MATRIX]),
        (call(factor, (MATRIX, jax.ShapeDtypeStruct((1,), jnp.int32)), uplo=np.uint8(ord("L"))), [MATRIX]),
        (call(factor, (wide, status), uplo=np.uint8(ord("L"))), [wide]),
        (call(solver, small, **settings), [MATRIX, MATRIX]),
        (call(solver, small, **settings), [MATRIX, small]),
        (call(solver, wide, **(settings | {"side": np.uint8(ord("R"))})), [MATRIX, wide]),
    ]:
        with pytest.raises(ForeignOperation, match="with arrays of wrong sizes"):
            checked(function, *args, targets=[factor, solver])
