"""Which element of the program's latents is which parameter, through which link: by comparing numbers at P points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpyro.distributions as dist

from bayesnb.core.families.parts._links import LINKS, Part, Positions
from bayesnb.core.model._spelling import CONSTRAINTS, Site, make_site
from bayesnb.recognition._class_parameters import same
from bayesnb.recognition._observed_blocks import Block, Values
from bayesnb.recognition._points import Latent, Points
from bayesnb.recognition._user_program import NotNaiveBayes


def find_parts(target: Values, sources: Mapping[str, Values], *, inverse: bool) -> tuple[tuple[Part, ...], Any]:
    """The parts of the target that are elements of the sources through a link, and which elements none gives.

    A latent equals the link's inverse of a parameter, or is one times a known constant, plus another. The target is a
    parameter and the sources are latents; if ``inverse``, the other way round.
    """
    missing = np.ones(target.values[0].size, bool)
    parts: list[Part] = []
    for affine, (name, link), (source, given) in product((False, True), LINKS.items(), sources.items()):
        if not missing.any():
            break
        events = (target.event, given.event)
        if (link.matrix and (affine or events != (2, 2))) or (affine and all(events)):
            continue
        latent, parameter = (target, given) if inverse else (given, target)
        with np.errstate(all="ignore"):
            latents, numbers = _flat(latent.values), _flat(link.inverse(np.asarray(parameter.values, np.float64)))
            wanted, offered = (latents, numbers) if inverse else (numbers, latents)
            at, found = _match(*map(_without_constants, (wanted, offered))) if affine else _match(wanted, offered)
        found &= missing
        if found.any():
            placed = np.flatnonzero(found)
            of_latents, of_numbers = (placed, at[placed]) if inverse else (at[placed], placed)
            constants = _constants(latents[:, of_latents], numbers[:, of_numbers]) if affine else ()
            size = given.shape[-1] if link.matrix else 1
            parts.append(Part(source, name, Positions(at[placed]), Positions(placed), size, *constants))
            missing &= ~found
    return tuple(parts), missing


def _flat(values: Any) -> Any:
    return np.reshape(values, (len(values), -1))


def _without_constants(values: Any) -> Any:
    """Numbers [P + 1, T], the same for columns of which one is the other times a constant, plus another."""
    values = values - values.mean(axis=0)
    values = values / np.take_along_axis(values, np.abs(values).argmax(axis=0)[None], axis=0)
    # a number may be 1 in many columns, their sum with other weights is not
    return 100.0 + np.concatenate([np.cos(np.arange(1.0, len(values) + 1.0))[None] @ values, values])


def _constants(latents: Any, numbers: Any) -> Any:
    """The shift and the scale, of each column or one for all, with numbers = shift + scale * latents."""
    centred = latents - latents.mean(axis=0)
    scale = (centred * numbers).sum(axis=0) / np.square(centred).sum(axis=0)
    shift = numbers.mean(axis=0) - scale * latents.mean(axis=0)
    shift = np.where(np.abs(shift) <= 1e-12 * np.abs(numbers).max(axis=0), 0.0, shift)
    # to 14 digits, so that decimals are what the program has written
    pairs = [tuple(float(f"{number:.14g}") for number in pair) for pair in zip(shift, scale, strict=True)]
    return zip(*(pairs[:1] if len({*pairs}) == 1 else pairs), strict=True)


def _match(targets: Any, sources: Any) -> tuple[Any, Any]:
    """For each target [P, T] the position of the source [P, S] with the same values, and whether there is one."""
    order = np.argsort(sources[0])
    place = np.searchsorted(sources[0][order], targets[0])
    best, found = np.zeros(targets.shape[1], int), np.zeros(targets.shape[1], bool)
    for step in (0, -1, 1):
        at = order[np.clip(place + step, 0, sources.shape[1] - 1)]
        equal = same(targets, sources[:, at]).all(axis=0) & ~found
        best[equal] = at[equal]
        found |= equal
    return best, found


class Fed(NamedTuple):
    """A canonical site and what feeds it: its parts, and for each of its units the source and the source's unit."""

    name: str
    values: Values
    parts: tuple[Part, ...]
    sources: Any
    units: Any


CLASS_PROBS = "class_probs"


class Matches:
    """The canonical sites of the blocks and of the class prior, matched with the program's latents."""

    def __init__(
        self,
        points: Points,
        blocks: list[Block],
        class_probs: Values | None,
        priors: Mapping[str, list[Any]],
        label: str,
    ) -> None:
        self.points, self.blocks, self.priors = points, blocks, priors
        self.latents = {name: Values(s.values, s.event) for name, s in points.latents.items()}
        self.canonical = {b.canonical(short): v for b in blocks for short, v in b.params.items()}
        self.site_names = {b.canonical(short): b.site for b in blocks for short in b.params}
        self.site_names[CLASS_PROBS] = label
        self.parameters = {b.canonical(short): short for b in blocks for short in b.params} | {CLASS_PROBS: "probs"}
        if class_probs is not None:
            self.canonical[CLASS_PROBS] = class_probs
        self.fed = {name: self._feed(name, values) for name, values in self.canonical.items()}
        self._require_one_to_one()
        fed = {part.source for values in self.fed.values() for part in values.parts}
        self.hyper = [name for name in self.latents if name not in fed]

    def match_latents(self) -> None:
        """Find the program's sites from the canonical ones."""
        self.sites = {name: self._site(name, values) for name, values in self.latents.items() if name not in self.hyper}
        for name, fed in self.fed.items():
            if len({LINKS[part.link].powers for part in fed.parts}) > 1:
                raise NotNaiveBayes(
                    f"site {self.site_names[name]!r}: its {self.parameters[name]} is a different "
                    "function of its latent in different classes or columns"
                )

    @property
    def canonical_sites(self) -> tuple[Site, ...]:
        """The model's own sites, made of the program's."""
        return tuple(Site(name, f.values.shape, f.parts, f.values.event) for name, f in self.fed.items())

    def parameters_of(self, latents: Mapping[str, Latent]) -> dict[str, Any]:
        """The model's own parameters at other points of the latents, [P, ...] by site."""
        raw = {name: latent.values for name, latent in latents.items()}
        shapes = {name: value.shape[1:] for name, value in raw.items()}
        return {site.name: make_site(site, raw, shapes, inverse=False) for site in self.canonical_sites}

    def _feed(self, name: str, values: Values) -> Fed:
        parts, missing = find_parts(values, self.latents, inverse=False)
        where = f"site {self.site_names[name]!r}"
        if missing.any():
            flat = values.values.reshape(len(values.values), -1)[:, missing]
            if same(flat, flat[:1]).all():
                raise NotNaiveBayes(
                    f"{where} has a known {self.parameters[name]}: only likelihoods whose parameters all have priors "
                    "are recognised, and Normal ones of known variance"
                )
            raise NotNaiveBayes(
                f"{where}: its {self.parameters[name]} is not an element of a latent site, nor a known function of "
                "one: each parameter of each class must be one number of a latent site, here of "
                f"{', '.join(map(repr, self.latents))}, scaled and shifted by known constants at most; give a sum or "
                "product of latents, such as a non-centred mean, a site of its own"
            )
        count = values.values[0].size
        sources, elements = np.zeros(count, int), np.zeros(count, int)
        names = list(dict.fromkeys(part.source for part in parts))
        for part in parts:
            sources[part.placed.values] = names.index(part.source)
            elements[part.placed.values] = part.taken.values // self.latents[part.source].unit
        sources, elements = sources.reshape(-1, values.unit), elements.reshape(-1, values.unit)
        if (sources != sources[:, :1]).any() or (elements != elements[:, :1]).any():
            raise NotNaiveBayes(
                f"{where}: its {self.parameters[name]} mixes several draws of latent sites: each vector or matrix must "
                "be one draw"
            )
        return Fed(name, values, parts, sources[:, 0], elements[:, 0])

    def _site(self, name: str, values: Values) -> Site:
        parts, missing = find_parts(values, self.canonical, inverse=True)
        if missing.any():
            raise NotNaiveBayes(
                f"site {name!r} has {int(missing.sum())} elements that no class reads: its class axis must have one "
                "element for each class"
            )
        return Site(name, values.shape, parts, values.event, *_support(self.priors[name][0], values.shape))

    def _require_one_to_one(self) -> None:
        """Refuse latents that are a parameter of several classes or columns."""
        readers: dict[tuple[str, int], str] = {}
        for name, fed in self.fed.items():
            names = list(dict.fromkeys(part.source for part in fed.parts))
            for unit, (source, element) in enumerate(zip(fed.sources.tolist(), fed.units.tolist(), strict=True)):
                latent = names[source]
                if (latent, element) in readers:
                    what = "element" if self.latents[latent].unit == 1 else "draw, a vector or matrix,"
                    raise NotNaiveBayes(
                        f"site {latent!r}: one {what} is used for several classes or columns "
                        f"({readers[latent, element]}, and element {unit} of {self.site_names[name]!r}), and only a "
                        "variance or covariance may be shared, by all classes: give each its own, or sample the "
                        "program as it is with numpyro.infer.MCMC; check also that no index is out of range, because "
                        "JAX clamps it silently"
                    )
                readers[latent, element] = f"element {unit} of {self.site_names[name]!r}"


def _support(prior: Any, shape: tuple[int, ...]) -> tuple[str, tuple[tuple[float, ...], ...]]:
    """The name of the support of a latent's draws, and its ends if it is an interval without a name."""
    support = prior.support
    while isinstance(support, type(dist.constraints.independent(dist.constraints.real, 1))):
        support = support.base_constraint
    for name, known in CONSTRAINTS.items():
        if support == known:
            return name, ()
    low, high = getattr(support, "lower_bound", -np.inf), getattr(support, "upper_bound", np.inf)
    if np.isinf(low).any() and np.isinf(high).any():
        return "real_vector" if prior.event_dim == 1 else "real", ()
    ends = np.array([np.broadcast_to(end, shape).ravel() for end in (low, high)], float)
    ends = ends[:, :1] if (ends == ends[:, :1]).all() else ends
    return "real", tuple(map(tuple, ends.tolist()))
