"""The pipeline's example: gradients through a fit inside jit train a network, and what was exported equals the fit."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose


@pytest.mark.slow
def test_the_network_learns_and_what_was_loaded_equals_the_fit(run):
    pytest.importorskip("equinox")
    out = run("jax_pipeline", "--steps", 30, "--rows", 400, files=("posterior.bin",))
    assert "what was loaded equals the fit" in out
    pixels, before, after = (float(loss) for loss in re.findall(r"^posterior on .*? (\d+\.\d+) ", out, re.M))
    assert after < before
    assert after < pixels


@pytest.mark.slow
def test_the_gradient_through_the_fit_is_that_of_differences(example):
    eqx, pipeline = pytest.importorskip("equinox"), example("jax_pipeline")
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        y = jnp.asarray(np.arange(60) % 10)
        x = jnp.asarray(rng.normal(size=(60, 5)) + np.asarray(y)[:, None] * rng.normal(size=5))
        network = eqx.nn.Linear(5, 3, key=jax.random.key(1), dtype=jnp.float64)
        slope, direction = eqx.filter_grad(pipeline.log_loss)(network, x, y), jnp.asarray(rng.normal(size=(3, 5)))

        def moved(step):
            return pipeline.log_loss(eqx.tree_at(lambda n: n.weight, network, network.weight + step * direction), x, y)

        assert_allclose((slope.weight * direction).sum(), (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-6)


def test_without_the_package_one_sentence_says_so(example, tmp_path, monkeypatch, capsys):
    pipeline = example("jax_pipeline")
    monkeypatch.setattr(pipeline, "eqx", None)
    with pytest.raises(SystemExit) as stop:
        pipeline.main(["--out", str(tmp_path)])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "this example builds its network with Equinox: pip install equinox\n"
