"""A folder of its own for each test that reads and writes files by relative paths."""

from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("onnx") else ["onnx/*"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
