"""How a recognised model is compared with the one that was composed by hand, and a refusal is read."""

from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.compute.arrays._placement import fields_of
from tests.recognition.case import Case

RTOL = 1e-6
"""Constants of a program may be in float32."""


def assert_same_model(model: nb.NaiveBayes, case: Case) -> None:
    """Every block, hyperparameter and prior is the expected one; the name of a single block is free."""
    expected = case.expected
    if not case.hierarchical:
        model, expected = (m.resolve(case.X, np.asarray(case.y)) for m in (model, expected))
    assert model.single == expected.single
    assert model.num_classes == expected.num_classes
    if not model.single:
        assert model.families.keys() == expected.families.keys()
    for (block, wanted), ours in zip(expected.families.items(), model.families.values(), strict=True):
        own = any(site.startswith(f"{block}_") for site in expected.priors)  # then hyperparameters are in no density
        _assert_same_family(ours, wanted, of_types=own)
    if expected.class_probs is None:
        assert model.class_probs is None
        _assert_same(model.class_concentration, expected.class_concentration, "class_concentration")
    else:
        assert_allclose(model.class_probs, expected.class_probs, rtol=RTOL)


def _assert_same_family(ours: nb.Family, wanted: nb.Family, *, of_types: bool) -> None:
    assert type(ours) is type(wanted)
    if isinstance(wanted, nb.Transformed):
        assert ours.transform == wanted.transform
        ours, wanted = ours.parts[0], wanted.parts[0]
    for field in () if of_types else fields_of(wanted):
        _assert_same(getattr(ours, field.name), getattr(wanted, field.name), f"{type(wanted).__name__}.{field.name}")


def _assert_same(ours: Any, wanted: Any, name: str) -> None:
    """Numbers are equal to rounding, distributions have equal parameters, all else is equal."""
    if isinstance(wanted, dist.Distribution):
        assert type(ours) is type(wanted), name
        for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(wanted), strict=True):
            assert_allclose(one, other, rtol=RTOL, err_msg=name)
    elif wanted is None or isinstance(wanted, str | tuple):
        assert ours == wanted, name
    else:
        one, other = np.broadcast_arrays(np.asarray(ours, float), np.asarray(wanted, float))
        correlated = name == "MultivariateNormal.scale"
        if correlated:  # a correlation may be 0
            size = np.sqrt(np.diagonal(other, axis1=-2, axis2=-1))
            one, other = (matrix / size[..., :, None] / size[..., None, :] for matrix in (one, other))
        assert_allclose(one, other, rtol=RTOL, atol=RTOL if correlated else 0.0, err_msg=name)


def message(error: BaseException) -> str:
    """All that a person reads of an error: notes, and the errors that caused it."""
    causes = [error.__cause__] if error.__cause__ else []
    return " ".join([str(error), *getattr(error, "__notes__", ()), *map(message, causes)])


def refusal(program: Any, *args: Any) -> nb.NotNaiveBayes:
    """The refusal of a program of ``y``."""
    with pytest.raises(nb.NotNaiveBayes) as caught:
        nb.from_numpyro(program, args, label="y")
    return caught.value
