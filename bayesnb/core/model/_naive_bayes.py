"""NaiveBayes: the specification of the generative program (``generative_program``), and its conjugate update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays._compute import compute
from bayesnb.compute.arrays._placement import as_array, on_host, short_repr
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, ObservedRows, Rows
from bayesnb.compute.numerics import _dirichlet as dirichlet
from bayesnb.compute.numerics._log_prob import joint
from bayesnb.compute.primitives.products._linear_scores import Score, Scoring
from bayesnb.core.families._base import Family, Hyperparameter
from bayesnb.core.families._views import shares, start_powers
from bayesnb.core.families.parts._support import broadcast
from bayesnb.core.model._coordinates import centre, restore, tilt_model
from bayesnb.core.model._declarations import (
    check_concentration,
    check_families,
    check_model_float32,
    check_priors,
    find_num_classes,
    hyperpriors,
    own_priors,
)
from bayesnb.core.model._generative_program import run
from bayesnb.core.model._spelling import Spelling, refuse_sampled, require_program, sample_sites
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import match_statistics
from bayesnb.core.rows._sufficient_statistics import ModelStatistics, pooled_statistics

Sites = dict[str, Array]
"""Parameters by site name: ``class_probs`` [K], and ``block_name`` [K, D, ...]."""

Tables = tuple[Array, dict[str, Any]]
"""Class probabilities [K], and by block the tables that score rows, from parameters or hyperparameters."""


@jax.tree_util.register_pytree_node_class
class NaiveBayes(Scoring):
    """An immutable pytree: a class prior, and a family for each block; called, it runs the program (``run``).

    Args:
        likelihoods: A family if X is an array [N, D] (block ``x``), or a dict of families if X is a dict of arrays.
        class_concentration: Dirichlet prior of the class probabilities, positive: a number, or [K]; uniform by default.
        class_probs: Fixed class probabilities [K] instead; they sum to 1.
        num_classes: K, if neither class_probs, class-wise hyperparameters nor the labels determine it.
        priors: By site, such as ``{"x_probs": dist.Uniform(0.2, 0.8)}``, for ``fit_nuts``, in place of conjugate ones.

    Example:
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes({"flags": nb.Bernoulli(), "vitals": nb.Normal()}, class_concentration=2.0)
        >>> X, y = {"flags": [[1], [1], [0]], "vitals": [[36.5], [37.0], [39.0]]}, [0, 0, 1]
        >>> nb.fit_posterior(model, X, y).predict_proba({"flags": [[1]], "vitals": [[float("nan")]]}).round(3)
        array([[0.75, 0.25]])
    """

    def __init__(
        self,
        likelihoods: Family | Mapping[str, Family],
        *,
        class_concentration: Hyperparameter = 1.0,
        class_probs: ArrayLike | None = None,
        num_classes: int | None = None,
        priors: Mapping[str, dist.Distribution] | None = None,
    ) -> None:
        self.single = not isinstance(likelihoods, Mapping)
        families = {"x": likelihoods} if not isinstance(likelihoods, Mapping) else dict(likelihoods)
        check_families(families)
        self.families: dict[str, Family] = families
        self.class_concentration = check_concentration(class_concentration)
        self.class_probs = None if class_probs is None else arguments.check_class_probs(class_probs)
        self.priors = check_priors(priors, self.sites(), fixed=class_probs is not None)
        self.num_classes = find_num_classes(num_classes, self.class_probs, self.class_concentration, families)
        self.columns: dict[str, int | None] = dict.fromkeys(families)

    certificate: Any = None
    """What ``from_numpyro`` recognised, and how it was checked; None for other models, made from that one too."""

    program_prior: Any = None
    """Of blocks whose parameters have the prior of a program that ``from_numpyro`` recognised: called inside a NumPyro
    program it samples that program's sites, and returns the parameters by the model's own sites. Not in files."""

    spelling: Spelling | None = None
    """How a program names and shapes its parameters and rows, if the model shows them like that program."""

    source: Callable[..., ObservedRows] | None = None
    """The function of ``rows``. It is no part of the pytree, as functions cannot be saved, nor compared by content."""

    # the specification, fixed to data

    @property
    def resolved(self) -> bool:
        """True if every shape and hyperparameter is fixed."""
        return all(columns is not None for columns in self.columns.values())

    def resolve(
        self,
        X: Rows | None = None,
        y: LabelsLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        statistics: ModelStatistics | None = None,
    ) -> Self:
        """The same model with every shape and data-dependent hyperparameter fixed, from rows or from their statistics.

        Without y all rows count, and num_classes must be declared. ValueError if the rows do not fit.
        """
        if self.resolved:
            return self
        if hyperpriors(self):
            raise ValueError(
                f"the model has hyperpriors, {', '.join(hyperpriors(self))}, which fit_nuts infers; for a closed form "
                "give numbers instead"
            )
        statistics = pooled_statistics(self, X, y, sample_weight, statistics)
        if not on_host(self, statistics):
            check_model_float32(self.families, self.class_concentration)
        return compute(_resolve, self, statistics)

    def conjugate(self) -> Self:
        """The same model without its non-conjugate ``priors``, and with conjugate ones in place of a program's."""
        return self._replace(priors={}, program_prior=None)

    @property
    def sampled(self) -> tuple[str, ...]:
        """The blocks whose parameters have the prior of a program, which ``fit_nuts`` alone knows."""
        return () if self.spelling is None else self.spelling.sampled

    @property
    def centred(self) -> bool:
        """Whether a sampler may move the parameters to where the posterior is of order one."""
        return not self.priors and self.program_prior is None

    def update(self, statistics: ModelStatistics) -> Self:
        """The exact posterior, another NaiveBayes; pure JAX if resolved, else the statistics resolve it first."""
        if not self.resolved:
            match_statistics(self.families, self.num_classes, False, statistics)
            return self.resolve(statistics=statistics).update(statistics)
        families = {name: f.update(statistics.blocks[name]) for name, f in self.families.items()}
        concentration = self.class_concentration + statistics.class_counts
        return self._replace(families=families, class_concentration=concentration)

    def with_hyperparameters(self, families: Mapping[str, Family], class_concentration: Hyperparameter) -> Self:
        """The same blocks with other hyperparameters, which must be valid."""
        return self._replace(families=dict(families), class_concentration=class_concentration)

    def with_class_probs(self, class_probs: ArrayLike) -> Self:
        """The same model for a population with these class probabilities [K]."""
        probs = arguments.check_class_probs(class_probs, self.num_classes)
        priors = {site: prior for site, prior in self.priors.items() if site != "class_probs"}
        spelling = None if self.spelling is None else self.spelling.without("class_probs")
        return self._replace(class_probs=probs, num_classes=probs.shape[0], priors=priors, spelling=spelling)

    # rows and parameters by name: the model's own names, or those of a program that it is spelled like

    def rows(self, *args: object, **kwargs: object) -> ObservedRows:
        """What the program of ``from_numpyro`` observes in its arguments, NaN where masked: rows X of fits to it.

        New arguments may lack the labels. If the program transforms its arguments before observing them, pass
        ``model.rows(...)`` wherever this model or its fits take X; the raw arguments are refused. Where rows depend on
        each other, as when a program standardises them, they are those of these arguments together, and a warning says
        so.

        Raises:
            ValueError: if the program fails, and for models that were loaded, or made by a fit or a transformation.

        Example:
            >>> import numpy as np, jax.numpy as jnp, numpyro, numpyro.distributions as dist, bayesnb as nb
            >>> def logs(X, y):
            ...     mu = numpyro.sample("mu", dist.Normal(0.0, 9.0).expand([2]))
            ...     numpyro.sample("x", dist.Normal(mu[y], 1.0), obs=jnp.log(X))
            >>> X, y = np.array([1.0, 2.0, 50.0, 90.0]), np.array([0, 0, 1, 1])
            >>> model = nb.from_numpyro(logs, (X, y), label="y")
            >>> nb.fit_posterior(model, model.rows(X, y), y).predict(model.rows(np.array([3.0, 80.0])))
            array([0, 1])
        """
        if self.source is None:
            raise ValueError(
                "model.rows is not available in a model that was loaded, or made by a fit or a transformation: call it "
                "of the model that nb.from_numpyro returned"
            )
        return self.source(self, *args, **kwargs)

    def by_block(self, X: Rows) -> Rows:
        """Rows by block; given by the sites of the program, if the model is spelled like one."""
        return X if self.spelling is None else self.spelling.rows(X, self.single)

    def own_rows(self, X: Rows) -> Rows:
        """Rows by block as the program has them, and as what it observes, if the model is spelled like one."""
        return X if self.spelling is None else self.spelling.own_rows(X, self.single)

    def labels_of(self, y: LabelsLike) -> LabelsLike:
        """Labels [N]; a program may have them as a column [N, 1]."""
        given: Any = y
        return y if self.spelling is None or np.shape(given)[1:] != (1,) else given.reshape(-1)

    def sites(self) -> list[str]:
        """The names of the parameters' sites."""
        own = ["class_probs", *(f"{b}_{site}" for b, f in self.families.items() for site in f.sites)]
        return own if self.spelling is None else self.spelling.names(own)

    def common_sites(self) -> set[str]:
        """The model's own sites that all classes share: they have no class axis."""
        return {f"{b}_{site}" for b, f in self.families.items() for site in f.common_sites}

    def own_params(self, params: Mapping[str, Array]) -> Mapping[str, Array]:
        """Parameters by the model's own sites, whatever its spelling."""
        return params if self.spelling is None else self.spelling.read(params)

    def to_sites(self, own: Sites) -> Sites:
        """Parameters by the model's own sites as those of the program that was recognised, if one was."""
        return own if self.spelling is None else self.spelling.write(own)

    def _collect(self, class_probs: Array, blocks: Mapping[str, Mapping[str, Array]]) -> Sites:
        named = {f"{b}_{site}": value for b, params in blocks.items() for site, value in params.items()}
        return self.to_sites({"class_probs": class_probs, **named})

    def class_probs_of(self, params: Mapping[str, Array]) -> Array:
        """The class probabilities among the parameters, [..., K]."""
        return self.own_params(params)["class_probs"]

    def block_params(self, params: Mapping[str, Array]) -> dict[str, Sites]:
        """Parameters by block and short name."""
        params = self.own_params(params)
        return {b: {site: params[f"{b}_{site}"] for site in f.sites} for b, f in self.families.items()}

    def with_sites(self, spelling: Spelling | None, **changes: object) -> Self:
        """The same model with the sites of a program, their names and shapes; None for its own."""
        return self._replace(spelling=spelling, **changes)

    def reference(self) -> Sites:
        """A central point of the conjugate model, always interior: means, and rate / shape for a variance."""
        return self._collect(self.class_mean(), {b: f.reference() for b, f in self.families.items()})

    def mode(self) -> Sites:
        """The joint mode of the parameters under conjugacy."""
        families, concentration = tilt_model(self)
        probs = dirichlet.dirichlet_mode(concentration) if self.class_probs is None else self.class_mean()
        return self._collect(jnp.asarray(probs), {b: f.mode() for b, f in families.items()})

    def mle(self, statistics: ModelStatistics) -> Sites:
        """The maximiser of the likelihood; a class without rows has probability 0."""
        refuse_sampled(self.spelling, ": use fit_nuts")
        fixed = self.class_probs
        probs = dirichlet.dirichlet_mle(statistics.class_counts[None])[0] if fixed is None else jnp.asarray(fixed)
        return self._collect(probs, {b: f.mle(statistics.blocks[b]) for b, f in self.families.items()})

    def log_likelihood_ratio(self, statistics: ModelStatistics, params: Sites, reference: Sites) -> Array:
        """log p(rows | params) - log p(rows | reference), a scalar; the reference is the posterior mean."""
        new, old = self.block_params(params), self.block_params(reference)
        parts = [f.log_likelihood_ratio(statistics.blocks[b], new[b], old[b]) for b, f in self.families.items()]
        if self.class_probs is None:
            change = self.class_probs_of(params) / self.class_probs_of(reference) - 1.0
            parts.append(dirichlet.centred_log_likelihood(statistics.class_counts, change, self.class_concentration))
        return sum(parts, jnp.zeros(()))

    def centre(self, statistics: ModelStatistics) -> tuple[Self, ModelStatistics]:
        """The same problem in coordinates where the posterior is of order one; unchanged if there are ``priors``."""
        if not self.centred:
            return self, statistics
        pairs = {b: centre(f, statistics.blocks[b]) for b, f in self.families.items()}
        blocks = {b: standard for b, (_, standard) in pairs.items()}
        model = self._replace(families={b: family for b, (family, _) in pairs.items()})
        return model, ModelStatistics(statistics.class_counts, blocks)

    def restore(self, statistics: ModelStatistics, params: Sites) -> Sites:
        """Parameters of the ``centre`` problem in the original coordinates."""
        if not self.centred:
            return params
        blocks = self.block_params(params)
        back = {b: restore(f, statistics.blocks[b], blocks[b]) for b, f in self.families.items()}
        return self._collect(self.class_probs_of(params), back)

    # log p(y = k, x) without the base measure

    def likelihood_tables(self, params: Mapping[str, Array]) -> Tables:
        """The tables from which ``likelihood_scorer`` scores rows, made of the parameters. Pure JAX."""
        blocks, probs = self.block_params(params), self.class_probs_of(params)
        return probs, {b: f.likelihood_tables(blocks[b]) for b, f in self.families.items()}

    def likelihood_scorer(self, tables: Tables) -> Score:
        """The score of rows, log p(y = k, x | params), [N, K], from the ``likelihood_tables`` of the parameters."""
        return joint_score(tables[0], {b: f.likelihood_scorer(tables[1][b]) for b, f in self.families.items()})

    def predictive_tables(self) -> Tables:
        """The tables from which ``predictive_scorer`` scores rows, made of the hyperparameters. Pure JAX."""
        return self.class_mean(), {b: f.predictive_tables() for b, f in self.families.items()}

    def predictive_scorer(self, tables: Tables) -> Score:
        """The score log p(y = k, x) of rows with the parameters integrated out, [N, K], from ``predictive_tables``."""
        return joint_score(tables[0], {b: f.predictive_scorer(tables[1][b]) for b, f in self.families.items()})

    def start_powers(self) -> dict[str, Array] | None:
        """The powers of a fit that has learned none, [P] by block of a resolved model; None if all are one."""
        if all(len(shares(f)[0]) == 1 for f in self.families.values()):
            return None
        return {b: start_powers(f, self.columns[b] or 0) for b, f in self.families.items()}

    def class_mean(self) -> Array:
        """E[p(y = k)], [K]: the predictive of a label."""
        if self.class_probs is not None:
            return as_array(self.class_probs)
        return dirichlet.dirichlet_mean(self.class_concentration)

    def row_base_measure(self, arrays: Mapping[str, Array]) -> Array | float:
        """The part of log p(x | params) that does not depend on the parameters, [N]."""
        return sum((part for b, f in self.families.items() if (part := f.row_base_measure(arrays[b])) is not None), 0.0)

    def params(self) -> Sites:
        """Sample every parameter, inside a NumPyro program, and return them by site."""
        require_program(self)
        found = self.program_prior() if self.program_prior else {}
        rest = self._replace(families={b: f for b, f in self.families.items() if f"{b}_{f.sites[0]}" not in found})
        return (rest._sample() if self.spelling is None else sample_sites(rest.with_sites(None), self.spelling)) | found

    def _sample(self) -> Sites:
        """``params`` by the model's own sites."""
        with own_priors(self.priors):
            if self.class_probs is None:
                probs = numpyro.sample("class_probs", dist.Dirichlet(self.class_concentration))
            else:
                probs = numpyro.deterministic("class_probs", jnp.asarray(self.class_probs))
            blocks = {b: f.params(b) if f.num_columns else without_columns(f, b) for b, f in self.families.items()}
            return self._collect(probs, blocks)

    def __call__(
        self,
        X: Rows | None = None,
        y: LabelsLike | None = None,
        *,
        num_rows: int | None = None,
        total_count: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> tuple[Array | dict[str, Array], Array]:
        """Run the generative program on rows to condition on, or generate ``num_rows``; see ``run``."""
        return run(self, X, y, num_rows, total_count)

    # a pytree: hyperparameters are leaves, names and sizes its structure

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("source", "program_prior")}

    def tree_flatten(self) -> tuple[list[Any], tuple[Any, ...]]:
        """Children, and the static rest; the order of blocks is part of it."""
        children = [*self.families.values(), self.class_concentration, self.class_probs, self.priors]
        columns = tuple((name, self.columns[name]) for name in self.families)
        return children, (columns, self.single, self.num_classes, self.spelling, self.program_prior)

    @classmethod
    def tree_unflatten(cls, aux: tuple[Any, ...], children: list[Any]) -> Self:
        """The model from its parts, without checks, as leaves may be tracers or placeholders."""
        model = object.__new__(cls)
        columns, model.single, model.num_classes, model.spelling, model.program_prior = aux
        *families, model.class_concentration, model.class_probs, model.priors = children
        model.columns = dict(columns)
        model.families = dict(zip(model.columns, families, strict=True))
        return model

    def __repr__(self) -> str:
        likelihoods = repr(self.families["x"]) if self.single else short_repr(self.families)
        name = "class_concentration" if self.class_probs is None else "class_probs"
        prior = f"{name}={short_repr(getattr(self, name))}"
        classes = "" if self.num_classes is None else f", num_classes={self.num_classes}"
        priors = f", priors={{{', '.join(f'{s!r}: {type(d).__name__}' for s, d in self.priors.items())}}}"
        return f"NaiveBayes({likelihoods}, {prior}{classes}{priors if self.priors else ''})"

    def _replace(self, **changes: Any) -> Self:
        model = object.__new__(type(self))
        model.__dict__.update({**self.__dict__, "certificate": None, **changes})
        return model


@jax.jit
def _resolve(model: NaiveBayes, statistics: ModelStatistics) -> NaiveBayes:
    num_classes, pooled = model.num_classes or statistics.num_classes, statistics.pool()
    families = {b: f.resolve(pooled[b], num_classes) for b, f in model.families.items()}
    return model._replace(
        families=families,
        class_concentration=broadcast(model.class_concentration, (num_classes,), "class_concentration"),
        num_classes=num_classes,
        columns={b: f.num_columns for b, f in families.items()},
    )


def joint_score(probs: Array, scores: Mapping[str, Score]) -> Score:
    """The ``joint`` of rows by block, given the score of each block."""
    return lambda arrays: joint(probs, [score(arrays[block]) for block, score in scores.items()])


def without_columns(family: Family, block: str) -> dict[str, Array]:
    """The empty parameters of a block without columns, which has no sample sites."""
    return {site: numpyro.deterministic(f"{block}_{site}", value) for site, value in family.mode().items()}
