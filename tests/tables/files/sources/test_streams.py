"""Files, folders, datasets, tables and Arrow's streams: what is in them is what is counted."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bayesnb as nb
from bayesnb.tables.files._counting import stream
from bayesnb.tables.files.sources._source import StreamError
from tests.conftest import DOCS
from tests.tables.files.stream_tables import (
    FORMS,
    NORMAL,
    SPECIES,
    TABLE,
    K,
    X,
    Y,
    ds,
    in_words,
    pa,
    pq,
    sources,
    whole,
)
from tests.tables.files.streams import assert_same

pytestmark = pytest.mark.usefixtures("small_batches")


# sources


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_whole(form, tmp_path):
    assert_same(stream(NORMAL, sources(TABLE, tmp_path)[form], label="species"), whole())


def test_streams_of_batches_need_the_number_of_classes():
    assert_same(stream(NORMAL, TABLE.to_reader(100), label="species", num_classes=K), whole())
    assert_same(stream(NORMAL, Capsule(TABLE), label="species", num_classes=K), whole())
    with pytest.raises(StreamError, match="declare their number, num_classes=K"):
        stream(NORMAL, TABLE.to_reader(100), label="species")


class Capsule:
    """Somebody else's table, which Arrow's protocol reads."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def test_rows_that_a_filter_chooses():
    dataset = ds.dataset(TABLE).filter(ds.field("first") > 1e4)
    chosen = X[:, 0] > 1e4
    streamed = stream(NORMAL, dataset, label="species", num_classes=K)
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X[chosen], Y[chosen]))


def test_what_folders_say_is_a_column(tmp_path):
    pq.write_to_dataset(in_words(TABLE, Y), tmp_path / "by", partition_cols=["species"])
    codes = np.argsort(np.argsort(SPECIES))[Y]
    assert_same(
        stream(NORMAL, tmp_path / "by", label="species"),
        nb.sufficient_statistics(NORMAL, X, codes, classes=sorted(SPECIES)),
    )


# CSV


def test_csv_whole_numbers_that_end_as_fractions(tmp_path):
    """Types are guessed from the first rows; what follows may be otherwise."""
    lines = ["a;b;label", *(f"{i % 7};{i % 5};{'xy'[i % 2]}" for i in range(3000)), "0.5;?;x", ";NA;y"]
    with gzip.open(tmp_path / "rows.csv.gz", "wt") as handle:
        handle.write("\n".join(lines))
    rows = np.arange(3000)
    X = np.r_[np.c_[rows % 7, rows % 5], [[0.5, np.nan], [np.nan, np.nan]]]
    streamed = stream(NORMAL, tmp_path / "rows.csv.gz", label="label")
    assert_same(streamed, nb.sufficient_statistics(NORMAL, X, np.r_[rows % 2, 0, 1], classes=["x", "y"]))


# memory


PEAK = """
import sys
from pathlib import Path
import bayesnb as nb
from bayesnb.tables.files._counting import stream
stream(nb.NaiveBayes(nb.Normal()), sys.argv[1], label="label", num_classes=2)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) / 1e3)  # getrusage knows the peak of the process that started this one, too
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from Linux's /proc")
def test_memory_does_not_grow_with_the_file(rng, tmp_path):
    """Resident in all, in MB: a row group of 60 columns and a million rows, pandas's default, once and four times."""
    rows = 1 << 20
    columns = {f"c{d}": rng.standard_normal(rows, np.float32) for d in range(60)}
    pq.write_table(pa.table({**columns, "label": rng.integers(0, 2, rows)}), tmp_path / "0.parquet")
    (tmp_path / "four").mkdir()
    for copy in range(4):
        (tmp_path / "four" / f"{copy}.parquet").hardlink_to(tmp_path / "0.parquet")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(DOCS.parent), *filter(None, sys.path)]),
    }

    def peak(source):
        command = [sys.executable, "-c", PEAK, str(source)]
        return float(subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout)

    once, four_times = peak(tmp_path / "0.parquet"), peak(tmp_path / "four")
    assert four_times < 700
    assert four_times < once + 60
