"""NUTS on the model's own NumPyro program, given sufficient statistics: the cost does not grow with labelled rows.

If hyperparameters are distributions, NUTS runs on them alone: parameters are integrated out, then drawn exactly.

    p(h | rows)  is proportional to  p(h) p(rows | h),    theta | h, rows ~ the conjugate posterior

The evidence p(rows | h) has a closed form, so the sampler's dimension does not grow with classes and columns. The
posterior is the same as with NUTS on the full program. Predictions average the exact predictive over draws of h, which
has far less noise than averaging over parameters. Azzimonti, Corani and Zaffalon, Hierarchical estimation of parameters
in Bayesian networks (2019), for Dirichlet-multinomial concentrations shared by the classes.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import jax

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._compute import compute, compute_rows
from bayesnb.compute.arrays._placement import pytree, to_host
from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike, Rows
from bayesnb.compute.arrays._user_warnings import warn
from bayesnb.compute.numerics._log_prob import LogProb, logsumexp
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.fits import _sampler as sampler
from bayesnb.core.fits._closed_form import gather
from bayesnb.core.fits._em import SplitRows, has_unlabelled, refuse_discrete, separate
from bayesnb.core.model._declarations import fill_hyperpriors, hyperpriors, initial_params, sample_hyperparameters
from bayesnb.core.model._naive_bayes import NaiveBayes, Sites
from bayesnb.core.model._spelling import require_program
from bayesnb.core.results._combine import average_draws
from bayesnb.core.results._draws import Draws
from bayesnb.core.results._evidence import evidence
from bayesnb.core.results._generate import sample_once
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._sufficient_statistics import ModelStatistics

NOT_EXACT = "take more num_warmup, or a smoother or narrower prior"
"""What to do about divergent transitions if there is no closed form."""


def fit_nuts(
    model: NaiveBayes,
    X: Rows | None = None,
    y: LabelsLike | None = None,
    *,
    key: Array,
    sample_weight: ArrayLike | None = None,
    statistics: ModelStatistics | None = None,
    num_samples: int = 1000,
    num_warmup: int = 1000,
    num_chains: int = 4,
    progress_bar: bool = True,
) -> Draws:
    """Draws from the posterior by the No-U-Turn sampler (Hoffman and Gelman 2014), chains vectorized on one device.

    The likelihood enters through the sufficient statistics, relative to the posterior mean and, for Normal blocks, in
    units of the posterior, so that float32 suffices for any number of rows. The labels of unlabelled rows are summed
    out, log sum_k p(y = k, x | params), in float64; the cost grows with their number, and the prior is resolved from
    all rows. If hyperparameters are distributions, NUTS runs on them alone, and parameters are drawn exactly
    (``HierarchicalDraws``). If parameters have their own ``priors``, it runs on their blocks alone, in float64: given
    labels the others are independent of these, and are drawn from their exact posterior.

    The first call compiles the sampler; later calls with the same structure, shapes and numbers of draws reuse it.
    Arguments not listed are as in ``fit_mle``.

    Args:
        y: Integers 0..K-1 [N], -1 for an unlabelled row, or soft labels [N, K].
        key: A ``jax.random.key``.
        num_samples: Draws per chain.
        num_warmup: Draws per chain in which the sampler adapts; they are discarded.
        num_chains: The number of chains; several are needed to see whether they agree.
        progress_bar: Show progress on stderr if that is a terminal.

    Warns:
        UserWarning: if R-hat exceeds 1.01, the effective sample size is below 400, transitions diverged, or two or more
            classes have no labelled row, so that their numbers are arbitrary.

    Raises:
        ValueError: as for ``fit_mle``, for invalid numbers of draws, for hyperpriors with ``priors`` or unlabelled
            rows, if no initial point with finite density is found, and inside a JAX transformation.

    Example:
        >>> import jax, bayesnb as nb
        >>> model, X, y = nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], [0, 0, 0, 1]
        >>> draws = nb.fit_nuts(model, X, y, key=jax.random.key(0), num_samples=500, num_warmup=300, progress_bar=False)
        >>> draws.predict_proba([[1]]).round(1), nb.fit_posterior(model, X, y).predict_proba([[1]]).round(1)
        (array([[0.8, 0.2]]), array([[0.8, 0.2]]))
    """
    arguments.check_key(key)
    arguments.check_counts(num_samples=num_samples, num_warmup=num_warmup, num_chains=num_chains)
    if num_samples < limits.FEWEST_DRAWS:
        raise ValueError(
            f"num_samples must be at least {limits.FEWEST_DRAWS}, so that chains can be compared, got {num_samples}"
        )
    arguments.require_known("fit_nuts", model, X, y, sample_weight, statistics, key)
    arguments.check_model(model)
    partly = statistics is None and has_unlabelled(y)
    refuse_discrete(
        _with_blocks(model, _blocks_of_nuts(model, partly)),
        "discrete sites gradients cannot move: use fit_posterior, which sums over them exactly, and its sample(key, "
        "num_samples) for independent draws, or columns that are 'normal', or 'categorical' in place of 'ordered'",
    )
    X = None if X is None else model.by_block(X)
    require_program(model)
    spelling, model = model.spelling, model.with_sites(None)
    settings: dict[str, Any] = {"num_samples": num_samples, "num_warmup": num_warmup, "num_chains": num_chains}
    settings["progress_bar"] = progress_bar
    exact = not (partly or hyperpriors(model)) and model.centred
    if hyperpriors(model):
        if partly or not model.centred:
            other = "unlabelled rows (y = -1)" if model.centred else "priors"
            raise ValueError(
                f"hyperpriors cannot be combined with {other}, since parameters could not be integrated out: give "
                "numbers as hyperparameters"
            )
        model, statistics = to_host(gather(model, X, y, sample_weight, statistics))
        arguments.check_draws(statistics, draws_of_all_chains=num_samples * num_chains)
        draws: Draws = _sample_hierarchical(model, statistics, key, **settings)
    elif partly:
        rows = separate(model, X, y, sample_weight)
        unnamed = (rows.labelled.class_counts == 0).nonzero()[0].tolist()
        if len(unnamed) > 1:
            warn(
                f"no labelled row distinguishes the classes {unnamed}: as in a mixture model their numbers are "
                "arbitrary, and may differ between chains or switch within one; label a row of each"
            )
        draws = _sample(rows.model, rows.labelled, rows, key, settings)
    else:
        model, statistics = gather(model, X, y, sample_weight, statistics)
        model, statistics = to_host((model.resolve(statistics=statistics), statistics))
        draws = _sample_some(model, statistics, key, settings)
    _warn(draws, exact=exact)
    if spelling is None:
        return draws
    return replace(draws, model=draws.model.with_sites(spelling), params=spelling.write(draws.params))


def _blocks_of_nuts(model: NaiveBayes, partly: bool) -> list[str]:
    """The blocks with priors of their own; all if there is none, or if unlabelled rows make blocks depend."""
    if partly or model.centred:
        return [*model.families]
    own = {*model.priors, *(model.program_prior.sites if model.program_prior else ())}
    return [b for b, f in model.families.items() if any(f"{b}_{site}" in own for site in f.sites)]


def _sample_some(model: NaiveBayes, statistics: ModelStatistics, key: Array, settings: dict[str, Any]) -> Draws:
    """Draws by NUTS for the blocks that need it, and independent ones from the exact posterior of the others."""
    if model.centred:
        return _sample(model, statistics, None, key, settings)
    own = _blocks_of_nuts(model, partly=False)
    others = [block for block in model.families if block not in own]
    parts = [
        (_with_blocks(model, blocks), replace(statistics, blocks={b: statistics.blocks[b] for b in blocks}))
        for blocks in (own, others)
    ]
    of_nuts, of_others = jax.random.split(key)
    exact_probs = "class_probs" not in model.priors
    moved = parts[0][0].with_class_probs(model.class_mean()) if exact_probs else parts[0][0]
    draws = _sample(moved, parts[0][1], None, of_nuts, settings)
    keys = jax.random.split(of_others, settings["num_samples"] * settings["num_chains"])
    exact = compute(_draw_exactly, parts[1][0].conjugate(), parts[1][1], to_host(keys))
    probs = {"class_probs": (exact if exact_probs else draws.params)["class_probs"]}
    return replace(draws, model=model, params={**exact, **draws.params, **probs})


def _with_blocks(model: NaiveBayes, blocks: list[str]) -> NaiveBayes:
    """The model of some of the blocks."""
    families, columns = ({b: of[b] for b in blocks} for of in (model.families, model.columns))
    return model._replace(families=families, columns=columns)


_draw_exactly = jax.jit(lambda model, rows, keys: jax.vmap(partial(sample_once, model.update(rows)))(keys))


def _sample(
    model: NaiveBayes, statistics: ModelStatistics, rows: SplitRows | None, key: Array, settings: dict[str, Any]
) -> Draws:
    """Draws of a resolved model's parameters, from statistics of labelled rows and from unlabelled ``rows``."""
    centred, standard, reference = compute(_centre, model, statistics)
    arguments.check_draws(reference, draws_of_all_chains=settings["num_samples"] * settings["num_chains"])
    start = initial_params(model, reference) if model.priors else reference
    start = None if model.program_prior else start
    # centred statistics need only float32; unlabelled rows, and priors in their own units, would lose digits
    with nullcontext() if rows is None and model.centred else jax.enable_x64(True):
        data = centred, standard, reference, rows
        samples, sample_stats = sampler.sample(TARGET, data, key, start=start, **settings)
    return Draws(model, compute(_restore, model, statistics, samples), sample_stats, settings["num_chains"])


def _log_likelihood(
    params: Sites, model: NaiveBayes, statistics: ModelStatistics, reference: Sites, rows: SplitRows | None
) -> Array:
    """The log likelihood of labelled rows relative to that at ``reference``, plus that of unlabelled rows."""
    labelled = model.log_likelihood_ratio(statistics, params, reference)
    return labelled if rows is None else labelled + _log_density(rows, params)


TARGET = sampler.Target(lambda model, *_: model.params(), _log_likelihood)


@jax.custom_vjp
def _log_density(rows: SplitRows, params: Sites) -> Array:
    """sum_n w_n log sum_k p(y = k, x_n | params) over the unlabelled rows; params are centred."""
    return _with_slope(rows, params)[0]


# one chain after another: under vmap a conditional would compute both branches, which takes 1.6 times as long
@jax.custom_batching.sequential_vmap
def _with_slope(rows: SplitRows, params: Sites) -> tuple[Array, Sites]:
    def value(params: Sites) -> Array:
        joint = rows.model.log_likelihood(rows.model.restore(rows.labelled, params), rows.arrays).log()
        return rows.weight @ logsumexp(joint)

    return jax.value_and_grad(value)(params)


_log_density.defvjp(_with_slope, lambda slope, change: (None, jax.tree.map(lambda part: part * change, slope)))


@jax.jit
def _centre(model: NaiveBayes, statistics: ModelStatistics) -> tuple[NaiveBayes, ModelStatistics, Sites]:
    prior, standard = model.centre(statistics)
    return prior, standard, prior.conjugate().update(standard).reference()


@jax.jit
def _restore(model: NaiveBayes, statistics: ModelStatistics, params: Sites) -> Sites:
    return jax.vmap(lambda draw: model.restore(statistics, draw))(params)


@pytree
class HierarchicalDraws(Draws):
    """Draws whose predictions integrate the parameters out: p(y, x) is the mean over draws of p(y, x | h, rows).

    ``specification`` is the model with the hyperpriors; ``statistics`` are those of the rows.

    Example:
        >>> import jax, bayesnb as nb, numpyro.distributions as dist
        >>> model = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=1.0))
        >>> settings = {"key": jax.random.key(0), "num_samples": 500, "num_warmup": 300, "progress_bar": False}
        >>> draws = nb.fit_nuts(model, [[1], [1], [0]], [0, 0, 1], **settings)
        >>> {site: values.shape for site, values in sorted(draws.params.items())}
        {'class_probs': (2000, 2), 'x_prior_a': (2000,), 'x_probs': (2000, 2, 1)}
    """

    specification: NaiveBayes
    statistics: ModelStatistics

    def _scorer(self) -> Score:
        own = self.model.own_params(self.params)
        values = {site: own[site] for site in hyperpriors(self.specification)}
        parts = self.specification, self.statistics, self.model.class_probs, values
        return lambda arrays: LogProb(*compute_rows(_mixture, parts, dict(arrays)))


def _sample_hierarchical(
    model: NaiveBayes, statistics: ModelStatistics, key: Array, **settings: Any
) -> HierarchicalDraws:
    """Draws given statistics on the host, in float64 since the evidence of many rows is a large number.

    ``settings`` go to ``sampler.sample``. ``Draws.model`` is the prior at the mean of the hyperparameters.
    """
    sampler_key, draw_key = jax.random.split(key)
    with jax.enable_x64(True):
        values, sample_stats = sampler.sample(OF_HYPERPARAMETERS, (model, statistics), sampler_key, **settings)
        keys = jax.random.split(draw_key, settings["num_samples"] * settings["num_chains"])
    values = to_host(values)
    params = {**values, **compute(_parameters, model, statistics, values, to_host(keys))}
    prior = compute(_resolve, model, statistics, {site: value.mean(axis=0) for site, value in values.items()})
    return HierarchicalDraws(prior, params, sample_stats, settings["num_chains"], model, statistics)


@jax.jit
def _resolve(model: NaiveBayes, statistics: ModelStatistics, values: Sites) -> NaiveBayes:
    return fill_hyperpriors(model, values).resolve(statistics=statistics)


def _log_evidence(values: Sites, model: NaiveBayes, statistics: ModelStatistics) -> Array:
    return evidence(_resolve(model, statistics, values), statistics).total


OF_HYPERPARAMETERS = sampler.Target(lambda model, *_: sample_hyperparameters(model), _log_evidence)


@jax.jit
def _mixture(
    model: NaiveBayes, statistics: ModelStatistics, class_probs: Array | None, values: Sites, arrays: dict[str, Array]
) -> LogProb:
    def joint(draw: Sites) -> LogProb:
        posterior = _resolve(model, statistics, draw).update(statistics)
        return (posterior if class_probs is None else posterior.with_class_probs(class_probs)).log_predictive(arrays)

    return average_draws(joint, values)


@jax.jit
def _parameters(model: NaiveBayes, statistics: ModelStatistics, values: Sites, keys: Array) -> Sites:
    """One draw of the parameters from the posterior under each draw of the hyperparameters."""

    def draw(values: Sites, key: Array) -> Sites:
        return sample_once(_resolve(model, statistics, values).update(statistics), key)

    return jax.vmap(draw)(values, keys)


def _warn(draws: Draws, *, exact: bool) -> None:
    """Warn if the draws are unreliable; ``exact`` is True if ``fit_posterior`` has the answer in closed form."""
    r_hat, ess, diverged = draws.max_r_hat, draws.min_ess, draws.num_divergences
    problems = []
    if r_hat > limits.R_HAT:
        problems.append(
            f"the largest R-hat is {r_hat:.3f}, above {limits.R_HAT}: the chains do not agree yet, take more num_warmup"
        )
    if ess < limits.ESS:
        problems.append(f"the smallest effective sample size is {ess:.0f}, below {limits.ESS}: take more num_samples")
    if diverged:
        remedy = "use fit_posterior, which is exact" if exact else NOT_EXACT
        problems.append(f"{diverged} transitions diverged: parts of the posterior may be missed; {remedy}")
    if problems:
        warn("do not trust these draws yet: " + "; ".join(problems))
