"""The example that goes from a laptop to a cluster runs on both."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "package"), [("DuckDB", "duckdb"), ("Spark", "pyspark")])
def test_the_same_lines_run_on_a_laptop_and_on_a_cluster(engine, package):
    pytest.importorskip(package, reason=f"{package} is an extra")
    if engine == "Spark" and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    path = f"{EXAMPLES.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    command = [sys.executable, str(EXAMPLES / "in_the_engine.py"), "--engine", engine]
    env = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}  # Spark's workers need pyarrow
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{engine}: 5,000 rows; " in done.stdout
    assert "known answer: the probabilities are those of a fit in memory" in done.stdout
