"""Sessions of onnxruntime for exported files, and the inputs that they take."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

METHODS = {"label": "predict", "proba": "predict_proba", "log_proba": "predict_log_proba", "log_joint": "log_joint"}
"""The method of a fit that gives the same as each output."""


class Served:
    """An exported file in a session, for a fit's rows or an estimator's."""

    def __init__(self, fit: Any, folder: Path) -> None:
        nb.export(fit, folder / "model.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(folder / "model.onnx", options, ["CPUExecutionProvider"])
        self.types = {one.name: one.type for one in self.session.get_inputs()}

    def __call__(self, feeds: dict[str, Any]) -> dict[str, np.ndarray]:
        return dict(zip(METHODS, self.session.run(list(METHODS), feeds), strict=True))

    def of_columns(self, frame: pd.DataFrame) -> dict[str, np.ndarray]:
        """The outputs for a frame, column by column; a missing text is empty."""
        return self({name: column(frame[name], kind) for name, kind in self.types.items()})


def column(cells: pd.Series, kind: str) -> np.ndarray:
    if kind == "tensor(string)":
        return np.array([["" if pd.isna(cell) else str(cell)] for cell in cells], object).reshape(-1, 1)
    return cells.to_numpy(float, na_value=np.nan)[:, None]


def of_blocks(fit: Any, X: Any) -> dict[str, np.ndarray]:
    """The rows of a fit by the names of inputs."""
    feeds = {}
    for name, block in ({"X": X} if fit.model.single else X).items():
        names = [f"{name}_successes", f"{name}_totals"] if isinstance(block, tuple) else [name]
        parts = block if isinstance(block, tuple) else [block]
        feeds |= {one: np.asarray(part, float) for one, part in zip(names, parts, strict=True)}
    return feeds


def assert_served(served: Served, fit: Any, X: Any, within: float = 1e-9) -> None:
    """All outputs equal the fit's answers, within ``within`` times max(1, |answer|), infinities included."""
    found = served(of_blocks(fit, X))
    for name, method in METHODS.items():
        expected = np.asarray(getattr(fit, method)(X))
        assert found[name].shape == expected.shape
        assert found[name].dtype == (np.int64 if name == "label" else np.float64)
        with np.errstate(invalid="ignore"):
            error = np.where(found[name] == expected, 0.0, abs(found[name] - expected) / np.maximum(1, abs(expected)))
        assert np.max(error, initial=0.0) <= within, name
