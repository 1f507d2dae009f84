"""Results saved to, and loaded from, bytes and open files."""

import io
from functools import cache

import numpy as np
import pytest

import bayesnb as nb

X, Y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]]), [0, 1, 1, 0]


@cache
def fit():
    return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, Y)


@pytest.fixture(scope="module")
def content():
    file = io.BytesIO()
    nb.save(fit(), file)
    return file.getvalue()


@pytest.mark.parametrize("given", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_are_the_file(given, content, tmp_path):
    (tmp_path / "fit").write_bytes(content)
    assert nb.load(tmp_path / "fit").log_evidence == fit().log_evidence
    np.testing.assert_array_equal(nb.load(given(content)).predict_proba(X), fit().predict_proba(X))


def test_files_that_are_open(tmp_path):
    with (tmp_path / "fit").open("wb") as file:
        nb.save(fit(), file)
    with (tmp_path / "fit").open("rb") as file:
        assert nb.load(file).log_evidence == fit().log_evidence


def test_exported_functions():
    file = io.BytesIO()
    nb.export(fit(), file, platforms=["cpu"])
    served = nb.load_exported(file.getvalue())
    np.testing.assert_allclose(served.predict_proba(X), fit().predict_proba(X), rtol=1e-5)
    with pytest.raises(nb.StorageError, match="the content has the format 'bayesnb exported 1'"):
        nb.load(file.getvalue())


def test_every_part_of_the_content_counts(content):
    for position in range(0, len(content), 37):
        changed = bytearray(content)
        changed[position] ^= 1
        with pytest.raises(nb.StorageError, match="the content is damaged"):
            nb.load(changed)
    with pytest.raises(nb.StorageError, match="the content is damaged"):
        nb.load(content[:-1])
    with pytest.raises(nb.StorageError, match=r"the content is empty: after writing a file, seek\(0\)"):
        nb.load(b"")


def test_files_that_are_closed_or_open_for_the_other(tmp_path):
    path = tmp_path / "fit"
    nb.save(fit(), path)
    with path.open("rb") as file, pytest.raises(nb.StorageError, match="cannot write: open it again"):
        nb.save(fit(), file)
    with pytest.raises(nb.StorageError, match="is closed, or cannot read: open it again"):
        nb.load(file)


def test_other_places_are_refused():
    with pytest.raises(nb.StorageError, match=r"^expected a path, bytes, or a file open for reading bytes, got int$"):
        nb.load(5)
    with pytest.raises(nb.StorageError, match=r"a file open for writing bytes, got a file of text$"):
        nb.save(fit(), io.StringIO())
