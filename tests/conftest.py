"""Every test runs in JAX's default precision, or in x64 under JAX_ENABLE_X64=1; both lanes must pass."""

from __future__ import annotations

import gc
import importlib
import os
from pathlib import Path

import jax
import matplotlib
import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def pytest_configure(config: pytest.Config) -> None:
    """Most of the tests' time is compilation: processes and runs share what was compiled, in pytest's own cache."""
    jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
    jax.config.update("jax_compilation_cache_max_size", 1 << 30)  # with a bound JAX locks the folder
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)  # every entry makes the next dearer
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


MANY_MAPS = 20_000
"""Linux allows a process 65,530; every function that JAX compiles takes some."""


@pytest.fixture(autouse=True, scope="module")
def _few_compiled_functions():
    """A process that ran hundreds of tests forgets what it compiled, before the system refuses it memory."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MANY_MAPS:
        jax.clear_caches()
        gc.collect()


matplotlib.use("Agg")
jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


@pytest.fixture
def key() -> jax.Array:
    return jax.random.key(20)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets, or a skip that says why."""
    folder = os.environ.get("BAYESNB_DATA")
    if not folder:
        pytest.skip("BAYESNB_DATA is not set: it names the folder of real data sets")
    return Path(folder)


@pytest.fixture
def example(monkeypatch):
    """Imports an example as if from its folder."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module


@pytest.fixture
def run(example, tmp_path, capsys):
    """Runs an example in process, sees that it wrote its picture and these files, and returns what it printed."""

    def call(name, *args, files=()):
        out = tmp_path / "pictures"
        example(name).main([*map(str, args), "--out", str(out)])
        assert {path.name for path in out.iterdir()} == {f"{name}.png", *files}
        assert (out / f"{name}.png").stat().st_size > 5000
        return capsys.readouterr().out

    return call
