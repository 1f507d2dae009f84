"""What a trace is told about functions with two bodies is what their JAX body gives."""

import jax
import pytest

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
