"""The bytes of a file: what is cut, changed, foreign or empty is refused by name."""

import json
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from tests.identical import assert_identical, saved

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])


def test_a_foreign_file_with_types_that_numpy_has_not(tmp_path):
    header = json.dumps({"w": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "foreign").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    with pytest.raises(nb.StorageError, match="it is not a bayesnb file"):
        nb.load(tmp_path / "foreign")


def test_files_that_are_not_there_or_of_others(tmp_path):
    with pytest.raises(nb.StorageError, match="cannot be read: No such file"):
        nb.load(tmp_path / "fit")
    with pytest.raises(nb.StorageError, match="cannot be read: it is a folder"):
        nb.load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(nb.StorageError, match=r"is damaged, or was not written by nb\.save"):
        nb.load(tmp_path / "empty")
    save_file({"weight": np.ones(3)}, tmp_path / "foreign")
    with pytest.raises(nb.StorageError, match="it is not a bayesnb file"):
        nb.load(tmp_path / "foreign")
    pickled = tmp_path / "pickled"
    np.save(pickled, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(nb.StorageError, match="is damaged"):
        nb.load(f"{pickled}.npy")


def test_other_formats_are_named(tmp_path):
    advised = {"result 1": "write it again", "result 3": "update bayesnb", "stream 2": "a file that nb.save wrote"}
    for name, advice in advised.items():
        written = f"bayesnb {name}"
        (tmp_path / "fit").write_bytes(tensors.to_bytes({"format": written, "result": None}, {}))
        with pytest.raises(nb.StorageError, match=f"has the format '{written}' .*{advice}"):
            nb.load(tmp_path / "fit")


def test_a_header_that_is_too_deep(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    save_file({}, tmp_path / "deep", metadata={"bayesnb": deep, "digest": tensors._digest(deep, {})})
    with pytest.raises(nb.StorageError, match="is damaged"):
        nb.load(tmp_path / "deep")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A fit, and its file."""
    fit = nb.fit_posterior(nb.NaiveBayes({"a": nb.Bernoulli(), "b": nb.Normal()}), {"a": X, "b": X * 1.5}, Y)
    return fit, saved(fit, tmp_path_factory.mktemp("storage")).read_bytes()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_file_that_is_cut_or_changed_is_refused(data, whole, tmp_path_factory):
    (fit, content), path = whole, tmp_path_factory.getbasetemp() / "changed.bayesnb"
    place = data.draw(st.integers(0, len(content) - 1))
    bit = data.draw(st.integers(0, 7) | st.none())
    end = [] if bit is None else [content[place] ^ (1 << bit), *content[place + 1 :]]
    path.write_bytes(bytes([*content[:place], *end]))
    with suppress(nb.StorageError):  # a changed byte of padding has no meaning
        assert_identical(nb.load(path), fit)


def test_the_header_is_json_that_others_can_read(whole):
    content = whole[1]
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["bayesnb"])
    assert header["format"] == "bayesnb result 2"
    assert header["result"]["node"][0] == "Posterior"
    assert set(header["result"]["node"][1]) == {"prior", "statistics"}


def test_every_part_of_the_content_counts(whole):
    content = whole[1]
    for position in range(0, len(content), 97):
        changed = bytearray(content)
        changed[position] ^= 1
        with pytest.raises(nb.StorageError, match="the content is damaged"):
            nb.load(changed)
    with pytest.raises(nb.StorageError, match="the content is damaged"):
        nb.load(content[:-1])
    with pytest.raises(nb.StorageError, match=r"the content is empty: after writing a file, seek\(0\)"):
        nb.load(b"")
