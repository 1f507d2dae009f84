"""A folder of its own for each test that reads and writes files by relative paths."""

import pytest


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
