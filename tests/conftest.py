"""Every test runs in JAX's default precision, or in x64 under JAX_ENABLE_X64=1; both lanes must pass.

Where pandas is not installed, as in the lane of the light core, tests that need an extra are left out.
"""

import ctypes
import gc
import importlib
import os
import traceback
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import jax
import numpy as np
import pytest

from bayesnb.compute.arrays._extras import EXTRAS, MissingExtra

LIGHT = find_spec("pandas") is None
ABOVE = tuple(str(Path(__file__).parents[1] / name) for name in ("tests", "bayesnb/tables", "bayesnb/studies"))

DOCS, EXAMPLES = (Path(__file__).parents[1] / name for name in ("docs", "examples"))

BRIEF = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true"
)


def pytest_configure(config: pytest.Config) -> None:
    """Most of the tests' time is compilation: it is kept brief, and what was compiled is kept in pytest's own cache.

    JAX_DISABLE_MOST_OPTIMIZATIONS=0 compiles as for users, numba's loops as well.
    """
    # batched LAPACK of jaxlib 0.10 waits for ever where as many solves run at once as XLA has threads
    os.environ.setdefault("NPROC", "16")
    if os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS") != "0":
        old = jax.__version_info__ < (0, 11)  # newer XLA lacks the flag; with it, level 0 computes NaN
        jax.config.update("jax_disable_most_optimizations", not old)
        os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "0" if old else "1"  # for processes that tests start
        if old:
            os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {BRIEF}"
        os.environ["NUMBA_OPT"] = "0"  # a quarter less time a loop; numba reads both when it is imported, later
        os.environ["NUMBA_CACHE_DIR"] = str(config.cache.mkdir("numba"))
    jax.config.update("jax_compilation_cache_dir", str(config.cache.mkdir("jax")))
    jax.config.update("jax_compilation_cache_max_size", 1 << 30)  # with a bound JAX locks the folder
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)  # every entry makes the next dearer
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _needs_extra(error: ModuleNotFoundError) -> bool:
    """Whether a name of an extra was refused, or a test or a module above the core imported a package of one.

    What the core itself imports is a fault.
    """
    importing = [
        frame.filename for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename
    ]
    known = (error.name or "").partition(".")[0] in {*EXTRAS, "onnx", "onnxruntime"}
    return LIGHT and (isinstance(error, MissingExtra) or (known and importing[-1].startswith(ABOVE)))


class _LeftOut(pytest.Module):
    def collect(self):
        pytest.skip("it needs an extra", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """A file of tests that cannot be imported without an extra is left out."""
    if LIGHT:
        try:
            importlib.import_module(".".join(module_path.relative_to(DOCS.parent).with_suffix("").parts))
        except ModuleNotFoundError as error:
            return _LeftOut.from_parent(parent, path=module_path) if _needs_extra(error) else None
    return None


def _leave_out():
    """So is a test that needs one while it runs, or whose fixtures do."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if _needs_extra(error):
            pytest.skip(str(error))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    return (yield from _leave_out())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    return (yield from _leave_out())


def pytest_terminal_summary(terminalreporter) -> None:
    if LIGHT:
        ran, left = (len(terminalreporter.stats.get(name, [])) for name in ("passed", "skipped"))
        terminalreporter.write_line(f"the light core: {ran} tests ran, {left} tests and files of tests were left out")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is slow twice, by two of its parameters or as a slow case of a slow test, runs with ``-m fuzz`` alone."""
    for item in items:
        if sum(mark.name == "slow" for mark in item.own_markers) > 1:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "slow"]
            item.add_marker("fuzz")


def pytest_collection_finish() -> None:
    """Garbage collection, once a tenth of the time, passes over what imports and collection made: it stays anyway."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 10)  # traces are many small objects, and JAX adds its own work to each round


ROOM = 3e8
"""Bytes for which it is worth to clear what JAX compiled, about one million a function."""


@pytest.fixture(scope="session")
def _most_memory():
    """Bytes that a process may hold: a quarter of the machine's for all of them, but no fewer than these."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    known = hasattr(os, "sysconf")
    return [max(1.6e9, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (4 * workers) if known else 0.0)]


@pytest.fixture(autouse=True)
def _few_compiled_functions(_most_memory):
    """A process that compiled hundreds of functions forgets them and returns their memory to the system.

    What cannot be returned then counts as the process's own, or every later test would compile everything again.
    """
    yield
    if _resident() > _most_memory[0]:
        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        _most_memory[0] = max(_most_memory[0], _resident() + ROOM)


def _resident() -> int:
    """Bytes of memory that the process holds; 0 where the system does not say."""
    known = Path("/proc/self/statm")
    return int(known.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if known.exists() else 0


# the same examples in every run, so that a change is judged by itself; `-m fuzz` searches by the thousand
hypothesis.settings.register_profile("reproducible", derandomize=True)
hypothesis.settings.load_profile("reproducible")
os.environ["MPLBACKEND"] = "Agg"
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


@pytest.fixture(scope="session")
def mixed():
    """A table with a column of each kind, and its comparison."""
    from tests.comparisons import compared, synthetic

    table = synthetic()
    return table, compared(table, (10, 84), 4)


@pytest.fixture
def example(monkeypatch):
    """Imports an example as if from its folder."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module


@pytest.fixture
def run(example, tmp_path, capsys):
    """Runs an example in process, sees that it wrote its picture and these files, and returns what it printed."""

    import matplotlib.pyplot as plt

    def call(name, files=(), **options):
        out = tmp_path / "pictures"
        out.mkdir(exist_ok=True)
        example(name).main(**options, out=out)
        plt.close("all")
        assert {path.name for path in out.iterdir()} == {f"{name}.png", *files}
        assert (out / f"{name}.png").stat().st_size > 5000
        return capsys.readouterr().out

    return call


@pytest.fixture
def numpyro_promotes_ranks():
    """NumPyro's own distributions and samplers promote ranks, which is JAX's default."""
    with jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture
def compilations():
    """The events of compilation from here on."""
    seen = []

    def listen(event, *_, **__):
        if event.endswith("backend_compile_duration"):
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seen
    jax.monitoring.unregister_event_duration_listener(listen)
