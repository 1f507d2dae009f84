"""Forests from files, and their average with the model without dependence: checked, and added up again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.core.results._classifier import Posterior
from bayesnb.core.storage._kinds import no_result, rebuild, store
from bayesnb.core.storage._saved_results import check_posterior, check_sums
from bayesnb.learned.forests._fit import add_pairs, check_pairs
from bayesnb.learned.forests._pairs import JointStatistics, PairStatistics
from bayesnb.learned.forests._posterior import ForestPosterior, ForestStatistics
from bayesnb.learned.forests._stacked import COVARIANCES, StackedPosterior
from bayesnb.learned.forests._structures import STRUCTURES

store(PairStatistics, JointStatistics)(no_result)


@store(ForestStatistics)
def _(statistics: ForestStatistics) -> Any:
    statistics.pairs.check()
    return check_sums(statistics)


@store(ForestPosterior, effects=("parents", "segments"))
def _(result: ForestPosterior) -> Any:
    posterior, power = rebuild(result.posterior), result.power
    _check_forest(result.structure, 1.0 if power is None else power)
    check_pairs(posterior, result.pairs, result.apart)
    if power is not None and posterior.powers is None:
        raise ValueError("the power of the forests and the powers of the features belong together")
    return replace(add_pairs(posterior, result.pairs, result.structure, result.apart), power=power)


@store(StackedPosterior, effects=("model", "parents", "segments"))
def _(result: StackedPosterior) -> Any:
    posterior = check_posterior(result)
    alone, shares = Posterior(posterior.prior, posterior.model, posterior.statistics, posterior.powers), result.shares
    for structure, (powers, power) in zip(result.structures, result.forest_powers, strict=True):
        _check_forest(structure, power)
        rebuild(replace(alone, powers=powers))
    if not (np.shape(shares) == (len(result.parts),) and np.min(shares) >= 0 and abs(np.sum(shares) - 1) < 1e-6):
        raise ValueError(f"shares must be {len(result.parts)} probabilities, got shape {np.shape(shares)}")
    if np.shape(result.log_losses) != (len(result.parts) + 1,):
        raise ValueError(f"log_losses must be {len(result.parts) + 1} numbers, got shape {np.shape(result.log_losses)}")
    normals = {name: rebuild(one) for name, one in result.normals.items()}
    sizes = {(*one.prior.columns.items(), one.prior.num_classes) for one in (alone, *normals.values())}
    if not normals.keys() <= COVARIANCES.keys() or len(sizes) > 1:
        raise ValueError(f"normals must be fits of the same columns and classes by {[*COVARIANCES]}, got {normals!r}")
    posterior = replace(posterior, normals=normals, parents=None, segments=())
    if (result.pairs is None) == bool(result.structures):
        raise ValueError(f"pairs and structures belong together, got structures {result.structures}")
    if result.pairs is None:
        return posterior
    check_pairs(alone, result.pairs, result.apart)
    structure = "best" if "best" in result.structures else "aode"
    forest = add_pairs(alone, result.pairs, structure, result.apart)
    return replace(posterior, parents=forest.parents, segments=forest.segments)


def _check_forest(structure: Any, power: Any) -> None:
    if structure not in STRUCTURES:
        raise ValueError(f"structure must be one of {list(STRUCTURES)}, got {structure!r}")
    if not (np.ndim(power) == 0 and 0 <= float(power) < np.inf):
        raise ValueError(f"power must be one number, finite and not negative, got {power!r}")
