"""What a trace is told about functions with two bodies is what their JAX body gives."""

import jax
import numpy as np
import pytest

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._own_primitives import remembered
from bayesnb.compute.primitives._segment_weights import segment_weights
from bayesnb.compute.primitives._segmentations import best_segmentation, sum_segmentations

FRONTS = [(), (2,), (3, 2)]
CASES = {  # the shapes of the arguments behind the axes in front
    "sum": (sum_segmentations, ((5, 5), (4,))),
    "best": (best_segmentation, ((5, 5), (4,), (5,))),
    "weights": (segment_weights, ((4, 6), (3, 4, 6), (2, 4))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize(("function", "shapes"), CASES.values(), ids=CASES)
def test_the_shapes_and_types_are_those_of_the_jax_body(function, shapes, front, dtype):
    with jax.enable_x64(dtype == "float64"):
        args = [jax.ShapeDtypeStruct((*front, *shape), dtype) for shape in shapes]
        told = jax.eval_shape(function, *args)
        assert told == tuple(jax.eval_shape(function.__wrapped__, *args))


def test_the_last_answers_are_remembered_and_no_others(monkeypatch):
    calls = []

    def double(x):
        calls.append(x.copy())
        return (2.0 * x,)

    double = remembered(double)
    a, b = np.arange(3.0), np.arange(4.0)
    assert double(a)[0] is double(a.copy())[0]
    assert double(b)[0].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert double(a)[0].tolist() == [0.0, 2.0, 4.0]
    assert len(calls) == 2
    a[0] = 5.0  # an array that changes is another
    assert double(a)[0].tolist() == [10.0, 2.0, 4.0]
    assert len(calls) == 3
    assert double(a.astype(np.float32))[0].dtype == np.float32  # of equal numbers
    with pytest.raises(ValueError, match="read-only"):
        double(a)[0][0] = 1.0
    monkeypatch.setattr(limits, "REMEMBERED_BYTES", 8)
    assert double(np.ones(2))[0] is not double(np.ones(2))[0]
