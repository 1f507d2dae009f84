"""Names, axes and parameterisations of a user's program: a model may show its parameters as that program has them.

A site of the program is made of the model's own ("canonical") sites, element by element, through one of ``LINKS``, and
the other way round. Positions are those in flattened arrays; leading axes, such as draws, are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.primitives import Messenger

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Array, allow_promotion, short_repr
from bayesnb.compute.arrays._typing import ObservedRows
from bayesnb.core.families.parts._links import LINKS, Part, Positions, between, log_slope, matrix_powers

CONSTRAINTS: dict[str, Any] = {
    name: getattr(constraints, name)
    for name in ("real", "positive", "unit_interval", "simplex", "positive_definite", "real_vector")
}
"""The supports of a program's sites, by name."""


class Site(NamedTuple):
    """An array made of parts of others. ``event`` axes are one draw, with the support ``constraint``."""

    name: str
    shape: tuple[int, ...]
    parts: tuple[Part, ...]
    event: int = 0
    constraint: str = "real"
    ends: tuple[tuple[float, ...], ...] = ()
    """The lowest and highest numbers of a support without a name, each for all elements or one by one; else ()."""

    @property
    def support(self) -> Any:
        """The support of the whole site."""
        of_draw = CONSTRAINTS[self.constraint]
        if self.ends:
            low, high = np.reshape(self.ends, (2, *self.shape) if len(self.ends[0]) > 1 else (2,))
            of_draw = between(low, high) or of_draw
        return constraints.independent(of_draw, len(self.shape) - of_draw.event_dim)

    def is_sound(self) -> bool:
        """Whether the support is a known one."""
        return self.constraint in CONSTRAINTS and np.shape(self.ends) in ((0,), (2, 1), (2, int(np.prod(self.shape))))

    @property
    def sources(self) -> set[str]:
        """The names of the sites that it is made of."""
        return {part.source for part in self.parts}


class Cells(NamedTuple):
    """The program's observed site of a block, and the shape of one row there."""

    block: str
    site: str
    shape: tuple[int, ...]


class Spelling(NamedTuple):
    """The program's sites from the canonical ones, and back, and the names of its observed sites."""

    label: str
    sites: tuple[Site, ...]
    canonical: tuple[Site, ...]
    cells: tuple[Cells, ...]
    hyper: tuple[tuple[str, str], ...] = ()
    """The program's names of hyperpriors' sites, and the model's own."""
    observes: str = ""
    """The program's name, if it observes other rows than its arguments: the model takes ``ObservedRows`` alone."""
    sampled: tuple[str, ...] = ()
    """The blocks whose parameters have the program's own prior, of any form."""

    @property
    def observed(self) -> dict[str, str]:
        """The program's names of the label and of the blocks."""
        return {"label": self.label, **{cells.block: cells.site for cells in self.cells}}

    def write(self, params: Mapping[str, Array]) -> dict[str, Array]:
        """Canonical parameters as the program's; those without a site of the program are kept as they are."""
        used = {part.source for site in self.sites for part in site.parts}
        shapes = {site.name: site.shape for site in self.canonical}
        names = {own: name for name, own in self.hyper}
        kept = {names.get(name, name): value for name, value in params.items() if name not in used}
        return {site.name: make_site(site, params, shapes, inverse=True) for site in self.sites} | kept

    def read(self, params: Mapping[str, Array]) -> dict[str, Array]:
        """The canonical parameters of the program's."""
        sites, names = {site.name for site in self.sites}, dict(self.hyper)
        kept = {names.get(name, name): value for name, value in params.items() if name not in sites}
        return self.read_some(params) | kept

    def without(self, canonical: str) -> Spelling:
        """The spelling for a model in which this canonical site is known, so that the program's site is left out."""
        sites = tuple(site for site in self.sites if site.sources != {canonical})
        return self._replace(sites=sites, canonical=tuple(site for site in self.canonical if site.name != canonical))

    def names(self, canonical: list[str]) -> list[str]:
        """The names that ``write`` gives."""
        used = {part.source for site in self.sites for part in site.parts}
        return [*(site.name for site in self.sites), *(name for name in canonical if name not in used)]

    def read_some(self, found: Mapping[str, Array]) -> dict[str, Array]:
        """The canonical sites that these values of the program's sites determine."""
        shapes = {site.name: site.shape for site in self.sites}
        known = [site for site in self.canonical if site.sources <= found.keys()]
        return {site.name: make_site(site, found, shapes, inverse=False) for site in known}

    def rows(self, X: Any, single: bool) -> Any:
        """Rows by the program's sites as rows by block, [N, D].

        ValueError unless they are what the program observes, where its arguments are something else.
        """
        if isinstance(X, ObservedRows) and dict.fromkeys(X.cells, self.observes or X.program) == {
            cells.site: X.program for cells in self.cells
        }:
            X = X.cells[self.cells[0].site] if single else X.cells
        elif isinstance(X, ObservedRows) or (self.observes and X is not None):
            raise ValueError(
                "X must be the rows that the model's program observes, from model.rows(...) of the recognised model, "
                f"got {short_repr(X)}"
            )
        if single and not isinstance(X, Mapping):
            return X if X is None else _flat(X, self.cells[0].shape)
        if not isinstance(X, Mapping):
            return X
        names = {cells.site: cells for cells in self.cells}
        return {
            names[site].block if site in names else site: _flat(x, names[site].shape) if site in names else x
            for site, x in X.items()
        }

    def own_rows(self, X: Any, single: bool) -> Any:
        """Rows by block as the program has them."""
        blocks = {self.cells[0].block: X} if single else X
        rows = {cells.site: _reshape(blocks[cells.block], cells.shape) for cells in self.cells}
        return ObservedRows(rows, self.observes) if self.observes else next(iter(rows.values())) if single else rows

    def tilts(self) -> dict[str, tuple[float, ...]]:
        """The powers of |d parameter / d latent| of the canonical sites whose link changes densities."""
        first = {site.name: site.parts[0] for site in self.canonical}
        powers = {name: matrix_powers(LINKS[part.link], part.size) for name, part in first.items()}
        return {name: p for name, p in powers.items() if any(p)}


def refuse_sampled(spelling: Spelling | None, advice: str) -> None:
    """Raise ValueError, with what to do, if there are ``sampled`` blocks: no answer has a closed form."""
    sites = [] if spelling is None else [repr(one.site) for one in spelling.cells if one.block in spelling.sampled]
    if sites:
        raise ValueError(
            f"the parameters of {', '.join(sites)} are not the own ones of each class and column, with priors of their "
            f"own{advice}"
        )


def require_program(model: Any) -> None:
    """Raise ValueError if parameters have the prior of a program that is not here."""
    if model.program_prior is None:
        refuse_sampled(model.spelling, ", but those of a program, which no file holds: recognise it again")


def sample_sites(model: Any, spelling: Spelling) -> dict[str, Array]:
    """Sample the program's sites under the model's priors, inside a NumPyro program; ``model`` has its own sites.

    p(latent) = p(parameter) |d parameter / d latent|, and the law of a parameter may depend on those before it in its
    block. So sites are sampled in that order, each given the parameters that the sites before it determine.
    """
    spelled = {source for site in spelling.sites for source in site.sources}
    found: dict[str, Array] = {}
    own: dict[str, Array] = {}
    key = numpyro.prng_key()
    keys = () if key is None else jax.random.split(key, len(model.families))
    for depth in range(1, 1 + max([1, *(len(family.sites) for family in model.families.values())])):
        laws, class_probs = _first_laws(model, depth, own | spelling.read_some(found), keys)
        for site in spelling.sites:
            if site.name not in found and site.sources <= laws.keys():
                found[site.name] = numpyro.sample(site.name, SiteDistribution(site, laws, spelling.canonical))
        for name, law in laws.items():
            if name not in spelled and name not in own:
                own[name] = numpyro.sample(name, law)
    known = {} if class_probs is None else {"class_probs": numpyro.deterministic("class_probs", class_probs)}
    return found | own | known


def _first_laws(
    model: Any, depth: int, known: Mapping[str, Array], keys: Any
) -> tuple[dict[str, dist.Distribution], Any]:
    """The laws of the first so many sites of each block, given the values before them; p(y) if no site samples it."""
    with allow_promotion(), handlers.block(), handlers.seed(rng_seed=0), _Keys(keys):
        trace = handlers.trace(handlers.substitute(model.params, data=known)).get_trace()
    laws = {name: site["fn"] for name, site in trace.items() if site["type"] == "sample"}
    first: dict[str, dist.Distribution] = {}
    for block, family in model.families.items():
        names = {f"{block}_{site}" for site in family.sites}
        first |= [(name, law) for name, law in laws.items() if name in names][:depth]
    if "class_probs" in laws:
        return first | {"class_probs": laws["class_probs"]}, None
    return first, trace["class_probs"]["value"] if "class_probs" in trace else None


class _Keys(Messenger):
    """A context in which blocks get these keys: parameters that are drawn together are the same in every run."""

    def __init__(self, keys: Any) -> None:
        super().__init__()
        self.keys = iter(keys)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Give the next key."""
        if msg["type"] == "prng_key":
            msg["value"] = next(self.keys, None)


class SiteDistribution(dist.Distribution):
    """The law of a program's site, given the ``laws`` of the canonical sites that it feeds."""

    def __init__(self, site: Site, laws: Mapping[str, dist.Distribution], canonical: tuple[Site, ...]) -> None:
        self.site = site
        self.fed = {target.name: target for target in canonical if site.name in target.sources}
        self.laws = {name: laws[name] for name in self.fed}
        super().__init__(event_shape=site.shape, validate_args=False)

    @property
    def support(self) -> Any:
        """The support of the whole site."""
        return self.site.support

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Draws of the canonical sites, as the program has them."""
        keys = jax.random.split(key, len(self.laws))
        drawn = {name: law.sample(k, sample_shape) for (name, law), k in zip(self.laws.items(), keys, strict=True)}
        return make_site(self.site, drawn, {name: target.shape for name, target in self.fed.items()}, inverse=True)

    def log_prob(self, value: Array) -> Array:
        """The canonical log density of the draws that the site feeds, with the change of variables."""
        value = jnp.asarray(value)
        flat = jnp.reshape(value, (*value.shape[: value.ndim - len(self.site.shape)], -1))
        return sum((self._log_prob(target, flat) for target in self.fed.values()), jnp.zeros(()))

    def _log_prob(self, target: Site, flat: Array) -> Array:
        law = self.laws[target.name]
        parts = [part for part in target.parts if part.source == self.site.name]
        draws = int(np.prod(target.shape[: len(target.shape) - target.event]))
        values = jnp.zeros((*flat.shape[:-1], int(np.prod(target.shape))), flat.dtype)
        fed, slopes = np.zeros(draws, bool), np.zeros(draws)
        for part in parts:
            values = values.at[..., part.placed.values].set(part.through(part.taken.of(flat), inverse=False))
            of_draws = part.placed.values * draws // values.shape[-1]
            fed[of_draws] = True
            slopes[of_draws] = np.log(np.abs(part.scale or 1.0))
        # draws that other sites feed are dropped; until then they hold a valid value
        rows = values.reshape(*flat.shape[:-1], draws, -1)
        rows = jnp.where(fed[:, None], rows, rows[..., int(np.argmax(fed)), :][..., None, :])
        canonical = rows.reshape(*flat.shape[:-1], *target.shape)
        density = jnp.where(law.support(canonical), law.log_prob(canonical), -jnp.inf)
        density = density.reshape(*flat.shape[:-1], draws)
        link = LINKS[parts[0].link]
        if link.matrix:
            density += log_slope(link, (jnp.linalg.slogdet(canonical)[1].reshape(density.shape),), parts[0].size)
        elif any(link.powers):
            one = rows[..., 0]
            density += log_slope(link, (jnp.log(one), jnp.log1p(-one) if len(link.powers) == 2 else one))
        return jnp.where(fed, density + slopes, 0.0).sum(axis=-1)


def make_site(
    site: Site, values: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]], *, inverse: bool
) -> Array:
    """The site from the values of its sources, whose shapes are given; leading axes are kept."""
    found = []
    for part in site.parts:
        shape, value = shapes.get(part.source), values[part.source]
        batch = value.shape[: value.ndim - len(shape or ())]
        taken = part.taken.of(value.reshape(*batch, -1))
        found.append(part.through(taken, inverse=inverse))
    if len(found) == 1:
        flat, order = found[0], site.parts[0].placed
    else:
        flat = either.concatenate(found, axis=-1)
        order = Positions(np.concatenate([part.placed.values for part in site.parts]))
    if not order.all_in_order:
        flat = flat[..., np.argsort(order.values)]
    return flat.reshape(*flat.shape[:-1], *site.shape)


def _flat(x: Any, shape: tuple[int, ...]) -> Any:
    """An array [N, *shape] as [N, D]; other arrays are left to the checks of rows."""
    if isinstance(x, tuple):
        return tuple(_flat(part, shape) for part in x)
    if len(shape) == 1:
        return x
    x = x if hasattr(x, "shape") else np.asarray(x)
    return x.reshape(x.shape[0], -1) if x.shape[1:] == shape else x


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(x, tuple):
        return tuple(_reshape(part, shape) for part in x)
    return x if len(shape) == 1 else x.reshape(x.shape[0], *shape)
