"""Which cells of an observed site count: by a mask of its distribution, or by ``obs_mask``."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.recognition.refusals import NotNaiveBayes

WRAPPERS = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)


def base_of(law: Any) -> Any:
    """The distribution without masks, and ``to_event`` and ``expand``, which change the meaning of axes only."""
    while isinstance(law, WRAPPERS):
        law = law.base_dist
    return law


def mask_of(site: dict[str, Any]) -> Any:
    """Which values of a site count, in the shape of the draws of its base distribution; None if all do."""
    law, found, event = site["fn"], None, base_of(site["fn"]).event_dim
    shape = np.shape(site["value"])[: np.ndim(site["value"]) - event]
    while isinstance(law, WRAPPERS):
        if isinstance(law, dist.MaskedDistribution):
            mask = jnp.broadcast_to(jnp.asarray(law._mask), law.batch_shape)
            mask = jnp.broadcast_to(mask.reshape(*mask.shape, *[1] * (law.event_dim - event)), shape)
            found = mask if found is None else found & mask
        law = law.base_dist
    seen = getattr(law, "seen", None)  # cells of vectors
    return found if seen is None else seen if found is None else seen & found[..., None]


def join_missing_cells(trace: dict[str, Any], label: str) -> dict[str, Any]:
    """The sites of a run, where ``obs_mask`` made two of one, with one masked site of the observed cells again.

    The other site has a latent for each missing cell. Nothing else may depend on them, so that their density
    integrates to one: a program where something does, differs between runs, which later checks refuse.
    """
    joined = dict(trace)
    for name, site in trace.items():
        observed, latent = (trace.get(f"{name}_{part}") for part in ("observed", "unobserved"))
        if site["type"] != "deterministic" or not (observed and latent and observed["is_observed"]):
            continue
        if name == label:
            raise NotNaiveBayes(
                f"site {name!r}, the label, has an obs_mask: example rows must have labels; leave the others out, and "
                "give them to fit_em"
            )
        joined[name] = observed
        del joined[f"{name}_observed"], joined[f"{name}_unobserved"]
    return joined
