"""Files are replaced as a whole: links, devices, rights, and what killed processes leave."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import bayesnb as nb
from bayesnb.core.storage import _whole_file as whole_file
from bayesnb.studies.cli import main
from bayesnb.tables.files._predictions import table_file

ROOT = Path(nb.__file__).parent.parent
X, Y = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]), np.array([0, 1, 1, 0])
MODEL = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)


def test_what_is_no_regular_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    names = {"pipe": "a pipe", "folder": "a folder", "socket": "a socket", "link": "a pipe", "device": "a device"}
    for name, kind in names.items():
        path, before = tmp_path / name, os.lstat(tmp_path / name).st_ino
        for use in (
            lambda path: nb.save(MODEL, path),
            nb.load,
        ):
            with pytest.raises(ValueError, match=f"{name}'.*it is {kind}, expected a regular file"):
                use(path)
        assert os.lstat(path).st_ino == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_the_command_line_refuses_it_before_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "rows.csv").write_text("a,y\n1,u\n2,v\n")
    for args in (
        ["fit", "rows.csv", "--save", "/dev/null"],
        ["fit", "rows.csv", "--save", "null"],
        ["predict", "rows.csv", "rows.csv", "--out", "pipe.csv"],
        ["predict", "pipe.csv", "rows.csv"],
    ):
        result = CliRunner().invoke(main, args)
        assert result.exit_code == 2
        assert "expected a regular file" in result.output
        assert result.output.count("\n") == 1
    with pytest.raises(ValueError, match="it is a pipe"), table_file(Path("pipe.csv"), pa.schema([])):
        pytest.fail("the work began")


def test_links_stay_and_their_targets_are_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    for name in ("link", "dangling"):
        (tmp_path / name).symlink_to(Path("far") / name)
    (tmp_path / "far" / "link").write_text("old")
    for name in ("link", "dangling"):
        nb.save(MODEL, tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert isinstance(nb.load(tmp_path / "far" / name), nb.NaiveBayes)
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(nb.StorageError, match="cannot be written"):
        nb.save(MODEL, tmp_path / "round")


def test_a_hard_link_to_the_input_is_the_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b\n")
    os.link("rows.csv", "same.csv")
    result = CliRunner().invoke(main, ["fit", "rows.csv", "--save", "same.csv"])
    assert "'same.csv' is already used by this command" in result.output


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_mode_of_an_old_file_stays(mode, tmp_path):
    path = tmp_path / "fit.csv"
    path.touch()
    path.chmod(mode)
    nb.save(MODEL, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    rows = pa.record_batch({"p": [0.5, 1.0]})
    with table_file(path, rows.schema) as write:
        write(rows)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    before = os.umask(0o027)
    try:
        nb.save(MODEL, tmp_path / "fit")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fit").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="nobody but root gives files away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "fit"
    path.touch(0o600)
    os.chown(path, 1234, 4321)
    nb.save(MODEL, path)
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (1234, 4321, 0o600)


def test_rights_of_a_group_that_is_not_kept_are_taken_away(tmp_path, monkeypatch):
    path = tmp_path / "fit"
    path.touch()
    path.chmod(0o664)
    before = os.stat(path)

    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refused)
    other, real = os.stat_result((*before[:5], before.st_gid + 1, *before[6:])), os.stat
    monkeypatch.setattr(os, "stat", lambda p, **options: other if str(p) == str(path) else real(p, **options))
    nb.save(MODEL, path)
    monkeypatch.undo()
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


KILLED = """
import os, sys
from pathlib import Path
from bayesnb.core.storage._whole_file import whole_file
with whole_file(Path(sys.argv[1])) as handle:
    handle.write(b"half")
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_the_dead_leave_goes_and_what_the_living_write_stays(tmp_path):
    foreign = tmp_path / ".bayesnb-elsewhere-0123"
    foreign.mkdir()
    command = [sys.executable, "-c", KILLED, tmp_path / "file"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == b"writing\n"
        (hidden,) = (path for path in tmp_path.iterdir() if path != foreign)
        assert hidden.name.startswith(whole_file.PREFIX)
        nb.save(MODEL, tmp_path / "fit")
        assert {path.name for path in tmp_path.iterdir()} == {"fit", hidden.name, foreign.name}
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert hidden.exists()
    nb.save(MODEL, tmp_path / "fit")
    assert {path.name for path in tmp_path.iterdir()} == {"fit", foreign.name}
