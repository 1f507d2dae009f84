"""Workers that die, parts without rows, and parts that differ: on clusters, as docs/how_to/clusters.md runs them."""

import os
import signal
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesnb as nb
from tests.tables.files.engines import faults
from tests.tables.files.engines.tables import assert_alike

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the clusters' own warnings

rng = np.random.default_rng(0)
KIND = np.sort(rng.choice(["a", "b"], 300))
ROWS = pa.table({"size": rng.normal(KIND == "b", 1.0), "colour": rng.choice(["red", "blue"], 300), "kind": KIND})
PARTS = [ROWS[:50], ROWS[50:50], ROWS[50:200], ROWS[200:]]
"""The second has no rows, the first and the last have one class each."""


@pytest.fixture(scope="module", params=faults.CLUSTERS)
def run(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[4]), prepend=os.pathsep)
        with faults.CLUSTERS[request.param]() as cluster:
            yield cluster


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return written(PARTS, tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def schema(run, paths):
    return merged_schema(run, paths)


def written(parts, folder):
    for place, part in enumerate(parts):
        pq.write_table(part, folder / f"{place}.parquet")
    return [str(folder / f"{place}.parquet") for place in range(len(parts))]


def merged_schema(run, paths):
    return nb.merge(*map(nb.TableSchema.from_bytes, run(faults.describe, paths)))


def total(paths, counted):
    return nb.merge(dict(zip(paths, map(nb.ModelStatistics.from_bytes, counted), strict=True)))


def assert_counted_once(schema, found):
    assert_alike(found, schema.count(ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as there is if rows of the schema and of the statistics differ
        assert nb.fit_table(schema, statistics=found, dependence=False).class_count_.sum() == ROWS.num_rows


@pytest.mark.parametrize("function", [faults.count_and_die, faults.die_while_counting])
def test_a_part_whose_worker_dies_counts_once(run, schema, paths, function, tmp_path):
    marker = tmp_path / "died"
    found = run(partial(function, schema, paths[2], str(marker)), paths)
    assert marker.exists()
    assert_counted_once(schema, total(paths, found))


def test_results_of_workers_that_die_count_once(run, schema, paths, tmp_path):
    def kill_all():
        pids = [int(one.name) for one in tmp_path.iterdir()]
        assert pids
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    found = run(partial(faults.count_and_tell, schema, str(tmp_path)), paths, kill_all)
    assert_counted_once(schema, total(paths, found))


def test_a_part_that_always_kills_its_worker_ends_in_a_sentence(run, schema, paths):
    start = time.monotonic()
    # Dask names the first part that two dying workers had, which may be a neighbour of the one that kills
    with pytest.raises(Exception, match=r"\d\.parquet' on 2 different workers|worker died|worker exited unexpectedly"):
        run(partial(faults.die_always, paths[2]), paths)
    assert time.monotonic() - start < 120
    assert_counted_once(schema, total(paths, run(partial(faults.count, schema), paths)))  # the cluster lives


def test_no_parts_and_no_rows(run, tmp_path):
    assert run(faults.describe, []) == []
    with pytest.raises(ValueError, match=r"merge takes .* of one part or more, got none"):
        merged_schema(run, [])
    empty = merged_schema(run, written([ROWS[:0], ROWS[:0]], tmp_path))
    with pytest.raises(ValueError, match="the target 'kind' has nothing in it"):
        nb.fit_table(empty, statistics=None)


def test_what_one_part_has_and_parts_of_other_types(run, tmp_path):
    """A class, a category and the values of a column in one part only; each type in other forms."""
    kinds = [ROWS["kind"][50:200].combine_chunks(), pa.array(["c"] * 100)]
    parts = [
        pa.table({"size": pa.array(range(50), pa.int32()), "colour": pa.nulls(50), "kind": ["a"] * 50}),
        pa.table({"size": pa.nulls(150), "colour": ROWS["colour"][50:200].dictionary_encode(), "kind": kinds[0]}),
        pa.table(
            {"size": ROWS["size"][200:], "colour": pa.array(["green"] * 100, pa.large_string()), "kind": kinds[1]}
        ),
        pa.table({"size": pa.array([1.5], pa.float32()), "colour": pa.array(["red"], pa.string_view()), "kind": ["a"]}),
    ]
    plain = pa.schema({"size": pa.float64(), "colour": pa.string(), "kind": pa.string()})
    whole = pa.concat_tables([part.cast(plain) for part in parts])
    places = written(parts, tmp_path)
    found = merged_schema(run, places)
    assert found.key == nb.describe_table(whole, "kind").key
    assert found.description.classes == ("a", "b", "c")
    assert_alike(total(places, run(partial(faults.count, found), places)), found.count(whole))


def test_a_column_that_a_part_lacks(run, schema, tmp_path):
    places = written([ROWS, ROWS.drop_columns(["colour"])], tmp_path)
    with pytest.raises(ValueError, match="the parts differ in columns, 'colour'"):
        merged_schema(run, places)
    with pytest.raises(Exception, match=r"1\.parquet' (has no|lacks).* 'colour'"):
        run(partial(faults.count, schema), places)


def test_broken_rows_are_named_by_part_and_row(run, schema, tmp_path):
    size = np.where(np.arange(150) == 27, np.inf, 0.0)
    places = written([ROWS[:50], ROWS[50:200].set_column(0, "size", [size])], tmp_path)
    with pytest.raises(Exception, match=r"column 'size' holds an infinite number in row 28 of '.*1\.parquet'"):
        run(faults.describe, places)
    colour = np.where(np.arange(150) == 27, "green", "red")
    places = written([ROWS[:50], ROWS[50:200].set_column(1, "colour", [colour])], tmp_path)
    with pytest.raises(Exception, match=r"1\.parquet', row 28: column 'colour' holds 'green', which is not in the sch"):
        run(partial(faults.count, schema), places)


def test_a_later_version_on_a_worker_is_refused_by_name(run, schema, paths):
    found = run(partial(faults.count_in_later_version, schema), paths)
    with pytest.raises(ValueError, match=r"has the format 'bayesnb result \d' and this version .*: update bayesnb"):
        total(paths, found)


def test_a_part_that_got_lost_is_missed(run, schema, paths):
    kept = [*paths[:2], paths[3]]
    lost = total(kept, run(partial(faults.count, schema), kept))
    with pytest.warns(UserWarning, match="the schema describes 300 rows, and the statistics count 150"):
        nb.fit_table(schema, statistics=lost, dependence=False)


@pytest.mark.parametrize("run", ["ray"], indirect=True)
def test_rows_that_ray_was_told_to_leave_out_are_missed(run, tmp_path, monkeypatch):
    """Both passes lose the same block, so that only Ray knows of its rows."""
    import ray

    places = written([ROWS[:50], ROWS[50:200].set_column(0, "size", [np.full(150, np.inf)]), ROWS[200:]], tmp_path)
    monkeypatch.setattr(ray.data.DataContext.get_current(), "max_errored_blocks", 1)
    described = run(faults.describe, places)
    assert len(described) == 2
    assert nb.merge(*map(nb.TableSchema.from_bytes, described)).num_rows == 150
    # one by one: Ray's threads import a module at once that cannot be imported, and one sees the half of it
    assert sum(ray.data.read_parquet(place).count() for place in places) == 300
