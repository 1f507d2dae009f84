"""Parameters that are functions of latents are found through every link, with their places and known constants."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesnb.core.families.parts._links import LINKS
from bayesnb.recognition._matching import find_parts
from bayesnb.recognition._observed_blocks import Values

PLACES = np.array([4, 0, 5, 2, 1, 3])


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("name", [name for name, link in LINKS.items() if not link.matrix])
def test_elements_are_found_through_every_link(name, affine, rng):
    latents, others = rng.uniform(0.1, 0.4, (4, 6)), rng.uniform(5.0, 9.0, (2, 4, 1))
    shift, scale = (0.05, 1.5) if affine else (0.0, 1.0)
    values = LINKS[name].forward(shift + scale * latents)[:, PLACES]
    target = Values(np.concatenate([values, others[0]], axis=1), 0)
    parts, missing = find_parts(target, {"theta": Values(latents, 0), "phi": Values(others[1], 0)}, inverse=False)
    assert_array_equal(missing, [False] * 6 + [True])
    for part in parts:
        assert part.source == "theta"
        found = part.through(part.taken.of(latents), inverse=False)
        assert_allclose(found, target.values[:, part.placed.values], rtol=1e-9)
    placed = np.concatenate([part.placed.values for part in parts])
    taken = np.concatenate([part.taken.values for part in parts])
    assert_array_equal(taken[np.argsort(placed)], PLACES)


def test_inverse_matrices_are_found_as_wholes(rng):
    half = rng.normal(size=(4, 3, 2, 3))
    latents = half @ half.mT
    target = Values(np.linalg.inv(latents)[:, ::-1], 2)
    ((part,), missing) = find_parts(target, {"precision": Values(latents, 2)}, inverse=False)
    assert not missing.any()
    assert (part.link, part.size) == ("inverse matrix", 2)
    found = part.through(part.taken.of(latents.reshape(4, -1)), inverse=False)
    assert_allclose(found, target.values.reshape(4, -1)[:, part.placed.values], rtol=1e-9)
