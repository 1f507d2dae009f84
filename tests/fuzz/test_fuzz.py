"""Problems that nobody thought of: each answer is held against the laws, or is a sentence.

The default lane tries 24 and the slow lane 100, the same ones at every run. ``python -m pytest -m fuzz`` tries 20,000
others, in parts that run on all cores; BAYESNB_FUZZ is another number of them, and BAYESNB_FUZZ_SEED, which is in the
name of every part, tries those of an earlier run again.
"""

import gc
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import jax
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests import cases
from tests.fuzz import arguments, columns, data, files, laws, tables
from tests.fuzz.models import FEW, Size, some_sizes
from tests.fuzz.sentences import Refused, answer, in_time
from tests.fuzz.settings import LONG, NUMBER, PART, PROMOTIONS, SEED, SHORT


def laws_hold(problem: data.Problem, law: Callable[[data.Problem], None], promotion: str) -> None:
    with in_time(), jax.numpy_dtype_promotion(promotion):
        law(problem)


def wild_is_answered(problem: data.Problem) -> None:
    with in_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns of a few units in the last place
        laws.answers_are_sane(problem)


def odd_is_answered(call: tuple[str, dict[str, object]]) -> None:
    name, given_ = call
    with in_time(), suppress(Refused), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answer(lambda: arguments.calls()[name].function(**given_))


def altered_is_answered(file: tuple) -> None:
    name, _, header, arrays = file
    with in_time(), suppress(Refused):
        files.load_and_use(name, header, arrays)


def broken_is_answered(content: bytes) -> None:
    with in_time(), suppress(Refused), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tables.fit_and_predict(content, Path(folder))


def columns_are_read(problem: columns.Categories | columns.Numbers) -> None:
    with in_time(), suppress(Refused), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        problem.check()


CHECKS = {
    "laws": laws_hold,
    "wild": wild_is_answered,
    "arguments": odd_is_answered,
    "files": altered_is_answered,
    "tables": broken_is_answered,
    "columns": columns_are_read,
}


def tried(name: str, sizes: list[Size]) -> Callable[[], None]:
    """The check of this name, of everything that may be drawn."""
    drawn = {
        "laws": {
            "problem": data.tame(sizes),
            "law": st.sampled_from(laws.LAWS),
            "promotion": st.sampled_from(PROMOTIONS),
        },
        "wild": {"problem": data.wild(sizes)},
        "arguments": {"call": arguments.odd_calls()},
        "files": {"file": files.altered()},
        "tables": {"content": tables.broken()},
        "columns": {"problem": columns.columns()},
    }
    return given(**drawn[name])(CHECKS[name])


SHARES = {"laws": 68, "wild": 40, "arguments": 40, "files": 20, "tables": 16, "columns": 16}
"""Of 200 examples."""


@pytest.mark.parametrize("part", [16, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", cases.by_default(CHECKS, *(name for name in CHECKS if name != "laws")))
def test_the_same_few(name, part):
    settings(SHORT, max_examples=SHARES[name] // part)(tried(name, FEW))()


def parts() -> list[tuple[str, int, int]]:
    """The name of what is tried, how often, and the part's seed."""
    found = []
    for name, share in SHARES.items():
        left = NUMBER * share // sum(SHARES.values())
        while left > 0:
            found.append((name, min(left, PART), SEED * 1000 + len(found)))
            left -= PART
    return found


@pytest.mark.fuzz
@pytest.mark.parametrize(("name", "number", "own"), parts(), ids=str)
def test_many_others(name, number, own):
    try:
        seed(own)(settings(LONG, max_examples=number)(tried(name, some_sizes(own))))()
    finally:
        jax.clear_caches()
        gc.collect()
