"""From the program's parameters and priors to a `NaiveBayes` with its hyperparameters, names and shapes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.model.links import LINKS
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.spelling import CONSTRAINTS, Cells, Site, Spelling, make_site
from bayesnb.recognition.blocks import Block
from bayesnb.recognition.classes import same
from bayesnb.recognition.matching import Values, find_parts, site_of
from bayesnb.recognition.own_priors import covers, own_prior
from bayesnb.recognition.points import Latent, Points
from bayesnb.recognition.priors import Fed, conjugate_prior
from bayesnb.recognition.reading import reading_of
from bayesnb.recognition.refusals import NotNaiveBayes
from bayesnb.recognition.sites import value_inside

CLASS_PROBS = "class_probs"


class Matches:
    """The canonical sites of the blocks and of the class prior, matched with the program's latents."""

    def __init__(
        self,
        points: Points,
        blocks: list[Block],
        class_probs: Values | None,
        laws: Mapping[str, list[Any]],
        label: str,
    ) -> None:
        self.points, self.blocks, self.laws = points, blocks, laws
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
        return site_of(name, values, parts, _constraint(self.laws[name][0]))

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
                        f"site {latent!r}: one {what} is a parameter of several classes or columns "
                        f"({readers[latent, element]}, and element {unit} of {self.site_names[name]!r}): "
                        "all classes may share a variance or covariance, and columns of one site all their parameters, "
                        "but nothing else; an index beyond its axis, which JAX keeps inside, looks the same"
                    )
                readers[latent, element] = f"element {unit} of {self.site_names[name]!r}"


def _constraint(law: Any) -> str:
    """The name of the support within which the latent's draws lie."""
    support = law.support
    while isinstance(support, type(dist.constraints.independent(dist.constraints.real, 1))):
        support = support.base_constraint
    for name, known in CONSTRAINTS.items():
        if support == known:
            return name
    if np.min(getattr(support, "lower_bound", -np.inf)) >= 0:
        return "unit_interval" if np.max(getattr(support, "upper_bound", np.inf)) <= 1 else "positive"
    return "real_vector" if law.event_dim == 1 else "real"


def compose(
    matches: Matches, settings: list[dict[str, Latent]], num_classes: int, fixed: Any, rows: Any, label: str
) -> tuple[NaiveBayes, list[str]]:
    """The model, resolved unless it has hyperpriors, and the canonical sites with priors of their own.

    ``settings`` are the latents at points with one value of all hyperparameters each, and ``fixed`` are known class
    probabilities; ``rows`` gives example cells by block.
    """
    own: dict[str, Any] = {}
    families: dict[str, Any] = {}
    hyper: dict[str, str] = {}
    for block in matches.blocks:
        found: dict[str, list[Any]] = {}
        for short in block.params:
            name, reading = block.canonical(short), reading_of(block.family)
            prior_of, support = partial(reading.prior_of, short), reading.support(short)
            values = _conjugate(matches, settings, name, partial(_terms, block, short, num_classes), prior_of, support)
            if values is None:
                own[name] = own_prior(matches.fed[name], settings[0], matches.laws, block.site)
            else:
                found |= {field: _end_to_end(found.get(field), given) for field, given in values.items()}
        families[block.name] = make_family(
            block,
            {
                field: known_or_hyper(matches, settings, given, f"{block.name}_prior_{field}", hyper)
                for field, given in found.items()
            },
        )
    concentration: Any = 1.0
    if CLASS_PROBS in matches.fed:
        values = _conjugate(matches, settings, CLASS_PROBS, _class_terms, _class_prior, dist.constraints.simplex)
        if values is None:
            own[CLASS_PROBS] = own_prior(
                matches.fed[CLASS_PROBS], settings[0], matches.laws, matches.site_names[CLASS_PROBS]
            )
        else:
            concentration = known_or_hyper(matches, settings, values["concentration"], "class_concentration", hyper)
    idle = [name for name in matches.hyper if name not in hyper]
    for name in idle:
        if same(matches.latents[name].values, matches.latents[name].values[:1]).all():
            raise NotNaiveBayes(
                f"site {name!r} has a fixed value, as by handlers.substitute: write the value in place of the site"
            )
    if idle:
        raise NotNaiveBayes(
            f"site {idle[0]!r} is not used: it is no parameter of an observed site, of the label or of a prior; leave "
            "it out"
        )
    single = len(matches.blocks) == 1
    model = NaiveBayes(
        families["x"] if single else families,
        class_concentration=concentration,
        class_probs=fixed,
        num_classes=num_classes,
        priors=own or None,
    )
    if not hyper:
        try:
            model = model.resolve(rows["x"] if single else rows)
        except ValueError as error:
            raise NotNaiveBayes(f"the example rows do not fit their likelihoods: {error}") from error
    return model.respell(_spelling(matches, label)._replace(hyper=tuple(hyper.items()))), list(own)


def _end_to_end(found: list[Any] | None, more: list[Any]) -> list[Any]:
    """Hyperparameters under each setting, after those of the columns before."""
    return more if found is None else [np.concatenate(pair, axis=-1) for pair in zip(found, more, strict=True)]


def _terms(block: Block, short: str, num_classes: int, values: Mapping[str, Any]) -> tuple[Any, ...]:
    return block.prior_terms(short, {s: values[block.canonical(s)] for s in block.params}, num_classes)


def _class_terms(values: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(np.moveaxis(np.log(values[CLASS_PROBS]), -1, 0))


def _class_prior(coefficients: Any) -> Any:
    return {"concentration": jnp.moveaxis(coefficients, 0, -1) + 1.0}, (coefficients > -1.0).all(axis=0)


def _conjugate(
    matches: Matches, settings: list[dict[str, Latent]], name: str, terms: Any, prior_of: Any, support: Any
) -> dict[str, list[Any]] | None:
    """The hyperparameters under each setting, or None if the prior is not conjugate."""
    if not covers(matches.fed[name], matches.laws, matches.points.latents, support):
        return None
    found: list[dict[str, Any]] = []
    for latents in settings:
        raw = {site: latent.values for site, latent in latents.items()}
        shapes = {site: value.shape[1:] for site, value in raw.items()}
        canonical = {
            site: make_site(site_of(site, fed.values, fed.parts), raw, shapes, inverse=False)
            for site, fed in matches.fed.items()
        }
        fed = matches.fed[name]
        fed = fed._replace(values=fed.values._replace(values=canonical[name]))
        values, good = conjugate_prior(fed, latents, terms(canonical), prior_of)
        if not good.all():
            return None
        found.append(values)
    return {field: [values[field] for values in found] for field in found[0]}


def known_or_hyper(
    matches: Matches, settings: list[dict[str, Latent]], given: list[Any], site: str, hyper: dict[str, str]
) -> Any:
    """A hyperparameter's value, or the distribution of the latent that it is under every setting."""
    if all(np.allclose(value, given[0], rtol=1e-7, atol=1e-9) for value in given):
        return given[0]
    for name in matches.hyper:
        values = [latents[name].values[0] for latents in settings]
        law, batch, shape = matches.laws[name], np.shape(values[0]), np.shape(given[0])
        fits = len(batch) <= len(shape) and all(n in (1, m) for n, m in zip(batch[::-1], shape[::-1], strict=False))
        if not fits or law[0].event_dim or name in hyper:
            continue
        pairs = zip(values, given, strict=True)
        if not all(np.allclose(value, np.broadcast_to(v, np.shape(value)), rtol=1e-6) for v, value in pairs):
            continue
        inside = value_inside(law[0])
        if np.allclose(law[0].log_prob(inside), law[1].log_prob(inside), rtol=1e-12):
            hyper[name] = site
            return law[0].expand(batch) if batch else law[0]
    raise NotNaiveBayes(
        f"the hyperparameter {site!r} depends on {', '.join(map(repr, matches.hyper))}: a hyperprior is recognised "
        "where a latent is itself one hyperparameter, and its own prior depends on nothing"
    )


def _spelling(matches: Matches, label: str) -> Spelling:
    canonical = tuple(site_of(name, fed.values, fed.parts) for name, fed in matches.fed.items())
    cells = tuple(Cells(block.name, block.site, block.shape) for block in matches.blocks)
    return Spelling(label, tuple(matches.sites.values()), canonical, cells)


FILLED: Mapping[str, float] = {"loc": 0.0}
"""Hyperparameters without effect, where a site has a prior of its own; the others are 1."""


def make_family(block: Block, found: Mapping[str, Any]) -> Any:
    """The family of a block with these hyperparameters."""
    cls, given = block.family, {**found, **block.known}
    given |= {name: FILLED.get(name, 1.0) for name, _ in cls.axes if name not in given and name != "scale"}
    if block.common:
        given[cls.may_be_common] = "shared"  # type: ignore[attr-defined]
    fields = {field.name for field in cls.__dataclass_fields__.values()}  # type: ignore[attr-defined]
    if "num_categories" in fields:
        sizes = tuple(values.shape[-1] for values in block.params.values())
        given["num_categories"] = sizes[0] if "probs" in block.params else sizes
    if block.groups is not None:
        given["columns"] = block.groups
    if "total_count" in fields:
        given["total_count"] = block.fixed_totals
    return cls(**given)
