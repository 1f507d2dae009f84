"""Files that were altered in one place and signed again: what they hold is refused, or predicts as it should."""

import copy
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from tests.fuzz.laws import adds_up, sane
from tests.fuzz.sentences import answer

N, K = 6, 3
X = {
    "flag": np.arange(N)[:, None] % 2,
    "kind": np.arange(2 * N).reshape(N, 2) % 3,
    "size": np.arange(N * 2.0).reshape(N, 2) ** 2,
}
Y = np.arange(N) % K
MODEL = nb.NaiveBayes(
    {"flag": nb.Bernoulli(), "kind": nb.Categorical((3, 3)), "size": nb.Normal()}, class_concentration=[0.5, 1.0, 2.0]
)
SAVED: dict[str, Callable[[], Any]] = {
    "model": lambda: MODEL.resolve(X, Y),
    "statistics": lambda: nb.sufficient_statistics(MODEL, X, Y),
    "MLE": lambda: nb.fit_mle(MODEL, X, Y),
    "posterior": lambda: nb.fit_posterior(MODEL, X, Y),
    "estimator": lambda: nb.NaiveBayesClassifier().fit(X["size"], np.array(["a", "b", "c"])[Y]),
}
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2,
    2.5,
    1e300,
    float("nan"),
    10**6,
    "x",
    "",
    [],
    {},
    [None],
    [[1]],
    {"array": "0"},
    {"dict": []},
]

Place = tuple[Any, ...]


@cache
def content(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of what was saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit"
        nb.save(SAVED[name](), path)
        return tensors.read(path)


def places(value: Any, here: Place = ()) -> list[Place]:
    """Where in JSON something stands."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here] * bool(here) + [place for key, part in parts for place in places(part, (*here, key))]


def _put(header: Any, place: Place, change: Callable[[Any, Any], None]) -> None:
    for key in place[:-1]:
        header = header[key]
    change(header, place[-1])


ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one less": lambda a: a[:-1] if a.ndim else a[None],
    "one column less": lambda a: a[..., :-1] if a.ndim else a[None],
    "one more": lambda a: np.concatenate([a, a[:1]]) if a.ndim else a[None],
    "nothing": lambda a: a[:0] if a.ndim else a[None],
    "another axis": lambda a: a[None],
    "flat": lambda a: a.reshape(-1),
    "turned": lambda a: np.ascontiguousarray(a.T),
    "half precision": lambda a: a.astype(np.float16),
    "single precision": lambda a: a.astype(np.float32),
    "small integers": lambda a: a.astype(np.int8),
    "truth values": lambda a: a.astype(bool),
    "NaN": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.nan, a),
    "infinite": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, np.inf, a),
    "negative": lambda a: -a.astype(float) - 1,
    "zeros": np.zeros_like,
    "huge": lambda a: a * 1e300,
}


def altered() -> st.SearchStrategy[tuple[str, str, dict[str, Any], dict[str, np.ndarray]]]:
    """What was saved, what was altered, and the header and arrays that came of it."""
    return _altered({name: content(name) for name in SAVED})


@st.composite
def _altered(draw: st.DrawFn, saved: dict[str, Any]) -> tuple[str, str, dict[str, Any], dict[str, np.ndarray]]:
    name = draw(st.sampled_from(sorted(saved)))
    header, arrays = copy.deepcopy(saved[name])
    if draw(st.booleans()):
        key, how = draw(st.sampled_from(sorted(arrays))), draw(st.sampled_from(sorted(ARRAYS)))
        with np.errstate(all="ignore"):
            arrays[key] = ARRAYS[how](arrays[key])
        return name, f"array {key}: {how}", header, arrays
    place = draw(st.sampled_from(places(header)))
    if draw(st.booleans()):
        odd = draw(st.sampled_from(ODD))
        _put(header, place, lambda part, key: part.__setitem__(key, odd))
        return name, f"{place} became {odd!r}", header, arrays
    _put(header, place, lambda part, key: part.__delitem__(key))
    return name, f"{place} was taken away", header, arrays


def load_and_use(name: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Loads the file, and predicts with what it holds."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fit").write_bytes(tensors.to_bytes(header, arrays))
        found = answer(lambda: nb.load(Path(folder) / "fit"))
    with np.errstate(all="ignore"), warnings.catch_warnings():  # numbers that somebody made up may be of any size
        warnings.filterwarnings("ignore", "block .* differ by a few units in the last place")
        answer(lambda: _use(name, found))


def _use(name: str, found: Any) -> None:
    if name == "estimator":
        proba = found.predict_proba(X["size"])
        assert np.isfinite(proba).all()
        assert set(found.predict(X["size"])) <= set(found.classes_)
        return
    if name == "statistics":
        found = nb.fit_posterior(MODEL, statistics=found)
    if name == "model":
        found = nb.fit_posterior(found, X, Y)
    sane(found, X, N, found.model.num_classes)
    if isinstance(found, nb.Posterior):
        adds_up(found)
