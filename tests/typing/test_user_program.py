"""A user's program: mypy, strict, finds the types that it says and the mistakes that it makes; and it runs."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from mypy import api

HERE = Path(__file__).parent
PROGRAM = HERE / "user_program.py"
CACHE = str(HERE.parents[1] / ".mypy_cache" / "user")


@pytest.mark.slow
def test_the_types_of_a_users_program_are_right():
    found, errors, _ = api.run(["--config-file", str(HERE / "mypy.ini"), "--cache-dir", CACHE, str(PROGRAM)])
    assert (found, errors) == ("Success: no issues found in 1 source file\n", "")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:column 'colour'")
def test_the_program_runs():
    runpy.run_path(str(PROGRAM), run_name="__main__")
