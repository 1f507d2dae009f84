"""A comparison writes over what a comparison wrote, and over nothing else: the refusal comes before the work."""

import json
import os
from pathlib import Path

import pytest

from bayesnb.frames._series import DataError
from bayesnb.report._folder import FILES, SUMMARY, stage, summary_text
from tests.command_line import GOOD, prepare, run

FULL = ("results.csv", "report.html", "dependence.png")


def write(out, names=FULL, text="a comparison's"):
    with stage(out) as folder:
        for name in names:
            (folder / name).write_text(text)
        (folder / SUMMARY).write_text(summary_text({"data": 1.5, "é": None}, folder))
    return {path.name: path.read_text() for path in out.iterdir()}


def test_the_folder_of_an_earlier_one_is_written_again(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    first = write(tmp_path)
    assert set(first) == {"notes.txt", SUMMARY, *FULL}
    assert set(json.loads(first[SUMMARY])["files"]) == {SUMMARY, *FULL}
    (tmp_path / "report.html").chmod(0o600)
    second = write(tmp_path, ("results.csv", "report.html"), "a later one's")
    assert set(second) == {"notes.txt", SUMMARY, "results.csv", "report.html"}  # no picture of another comparison
    assert second["results.csv"] == "a later one's"
    assert second["notes.txt"] == "mine"
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600


def in_the_way(out, name, kind):
    path = out / name
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": "far", "dangling link": "nowhere"}[kind])
    return path


@pytest.mark.parametrize("kind", ["file", "folder", "pipe", "link", "dangling link"])
@pytest.mark.parametrize("name", FILES)
def test_what_somebody_else_wrote_is_refused_before_the_work(name, kind, tmp_path):
    (tmp_path / "far").write_text("mine")
    path = in_the_way(tmp_path, name, kind)
    before = os.lstat(path)
    with (
        pytest.raises(DataError, match=f"{name}' would be overwritten.*give another folder with --out"),
        stage(tmp_path),
    ):
        pytest.fail("the work began")
    assert (tmp_path / "far").read_text() == "mine"
    assert os.lstat(path).st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("name", ["results.csv", SUMMARY, "learning_curve.png"])
def test_what_has_changed_since_or_was_added_is_somebody_elses(name, tmp_path):
    before = write(tmp_path)
    (tmp_path / name).write_text(before.get(name, "").replace("1.5", "1.25") + " ")
    changed = (tmp_path / name).read_text()
    if name == SUMMARY:
        (tmp_path / name).write_text(changed := changed.rstrip())
    with pytest.raises(DataError, match=f"{name}' would be overwritten"), stage(tmp_path):
        pytest.fail("the work began")
    assert (tmp_path / name).read_text() == changed


def test_a_link_to_a_file_of_a_comparison_is_somebody_elses(tmp_path):
    write(tmp_path)
    (tmp_path / "results.csv").rename(tmp_path / "moved.csv")
    (tmp_path / "results.csv").symlink_to("moved.csv")
    with pytest.raises(DataError, match=r"results\.csv' would be overwritten"), stage(tmp_path):
        pytest.fail("the work began")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": {}}', '{"files": {"summary.json": "0"}}', '{"files": 1}'])
def test_summaries_of_others(text, tmp_path):
    (tmp_path / SUMMARY).write_text(text)
    with pytest.raises(DataError, match=r"summary\.json' would be overwritten"), stage(tmp_path):
        pytest.fail("the work began")


def test_what_comes_during_the_work_stays(tmp_path):
    with pytest.raises(DataError, match=r"results\.csv' would be overwritten"), stage(tmp_path) as folder:  # noqa: PT012
        (folder / "results.csv").write_text("a comparison's")
        (tmp_path / "results.csv").write_text("mine")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("results.csv", "mine")]


def test_what_fails_inside_is_no_fault_of_the_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="rows"), stage(tmp_path / "out"):
        raise FileNotFoundError(2, "rows")
    assert not list(tmp_path.iterdir())


def test_a_link_to_a_folder_that_is_still_to_come(tmp_path):
    (tmp_path / "out").symlink_to("below")
    assert set(write(tmp_path / "out")) == {path.name for path in (tmp_path / "below").iterdir()} == {SUMMARY, *FULL}


def test_the_command_line_keeps_its_own_input(tmp_path, monkeypatch):
    place = prepare(tmp_path, monkeypatch)
    """Given as the folder, as a link to it, and by the name of the data."""
    (place / "results.csv").write_text(GOOD)
    (place / "link").symlink_to(".")
    (place / "...csv").write_text(GOOD)  # whose name, without its ending, is that of the folder above
    monkeypatch.setattr("bayesnb.report._comparison.compare", lambda *_, **__: pytest.fail("the work began"))
    read, other = "results.csv' is an input", "results.csv' would be overwritten"
    for *args, sentence in (
        ["results.csv", "--out", ".", read],
        ["results.csv", "--out", "link", read],
        ["...csv", other],
    ):
        result = run(*args, "--target", "label", "--no-nuts")
        assert result.exit_code == 2, result.output
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1
    assert Path("results.csv").read_text() == GOOD


def test_the_data_are_not_written_over(tmp_path):
    with stage(tmp_path) as folder:
        (folder / "results.csv").write_text("a,b\n")
        (folder / SUMMARY).write_text(summary_text({}, folder))
    with (
        pytest.raises(DataError, match=r"results.csv' is an input and would be overwritten"),
        stage(tmp_path, tmp_path / "results.csv"),
    ):
        raise AssertionError("the work has begun")
    assert (tmp_path / "results.csv").read_text() == "a,b\n"
