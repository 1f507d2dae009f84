"""Files that are read in several batches."""

import pytest

from bayesnb.compute.arrays import _limits as limits
from tests.tables.files.stream_tables import D


@pytest.fixture
def small_batches(monkeypatch):
    """Of 32 rows of four columns, so that every file takes several; and little of a CSV file at once."""
    monkeypatch.setattr(limits, "BATCH_BYTES", 8 * (D + 1) * 32)
    monkeypatch.setattr(limits, "CSV_BLOCK_BYTES", 1 << 11)
