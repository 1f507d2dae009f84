"""scikit-learn's own tests of its naive Bayes, as they are installed, run on the drop-in classes."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sklearn

ROOT = Path(__file__).parents[4]

FIXTURES = """
import numpy as np
import pytest

@pytest.fixture
def global_random_seed():
    return 42

@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    return request.param
"""


@pytest.mark.slow
def test_all_pass(tmp_path):
    source = (Path(sklearn.__file__).parent / "tests" / "test_naive_bayes.py").read_text()
    ours = source.replace("from sklearn.naive_bayes import", "from bayesnb.sklearn import")
    assert ours != source
    (tmp_path / "test_naive_bayes.py").write_text(ours)
    (tmp_path / "conftest.py").write_text(FIXTURES)
    report = tmp_path / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--junit-xml={report}",
    ]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    suite = ElementTree.parse(report).find("testsuite")
    assert int(suite.get("tests")) - int(suite.get("skipped")) > 50, run.stdout[-2000:]
    assert run.returncode == 0, run.stdout[-5000:]
