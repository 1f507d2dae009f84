"""What follows from an exact posterior, each against its rival and beside the goal that was set for it.

- NUTS through the statistics against NumPyro's NUTS on the model's own row-by-row program, first and later calls, and
  on the statistics of many rows against few.
- Leave-one-out against one prediction of the same rows, both ours.
- Twenty smoothings in ten folds, and the best by its log loss, against a grid search; the folds are the same rows.
- Learned priors from statistics. They have no rival.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from numpyro.infer import MCMC, NUTS
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, MultinomialNB

import bayesnb as nb
from tests.benchmarks.workloads import Array, Jobs, Workload, binary, normal

Size = tuple[int, int, int]

SMOOTHINGS = np.logspace(-2, 1.5, 20)


def workloads(quick: bool) -> Iterator[Workload]:
    """Every contest; ``quick`` has a tenth of the rows and of the draws."""
    part = 10 if quick else 1
    num_draws = 500 // part
    yield _nuts(36_000 // part, num_draws, "ratio 20")
    yield _nuts(5_000 // part, num_draws, "ratio 2")
    yield _nuts(5_000 // part, num_draws, "ratio 5", later=True)
    prepare = partial(_more_rows, num_draws)
    yield Workload("NUTS, more rows", "1,000,000 x 20 x 10", "1,000 rows", prepare, "ratio 0.83")
    rows, folded, table = (20_000 // part, 100, 10), (5_000 // part, 100, 10), (2_000 // part, 1_000, 10)
    for kind in (KINDS["Bernoulli"], KINDS["Normal"], KINDS["Multinomial"]):
        yield Workload(
            f"{kind.name}, leave one out", _text(rows), "prediction", partial(_leave_one_out, kind, rows), "ratio 0.2"
        )
    for name, goal in (("Bernoulli", "ratio 50"), ("Multinomial", "ratio 60"), ("Categorical", "ratio 150")):
        prepare = partial(_grid, KINDS[name], folded)
        yield Workload(f"{name}, 10 folds x 20", _text(folded), "scikit-learn", prepare, goal)
    for kind in (KINDS["Bernoulli"], KINDS["Multinomial"], KINDS["Normal"]):
        for by in ("block", "feature"):
            prepare = partial(_empirical, kind, table, by)
            yield Workload(f"{kind.name}, learned by {by}", _text(table), "", prepare, "1000 ms")


class Kind(NamedTuple):
    """Rows of a type, a family for them, the family at a smoothing, scikit-learn's classifier, and the fit like it."""

    name: str
    data: Callable[[int, int, int], tuple[Array, Array]]
    family: nb.Family
    smoothed: Callable[[float], nb.Family] | None = None
    rival: Any = None
    fit: Callable[..., Any] = nb.fit_posterior


def counts(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Counts, more in the later classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    rate = (0.3 + 0.1 * y[:, None]) * rng.gamma(1.0, size=num_columns)
    return rng.poisson(rate).astype(np.float64), y


def codes(num_rows: int, num_columns: int, num_classes: int) -> tuple[Array, Array]:
    """Codes 0 to 4, a tenth of which tell the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, num_classes, num_rows)
    told = rng.random((num_rows, num_columns)) < 0.1
    return np.where(told, y[:, None] % 5, rng.integers(0, 5, (num_rows, num_columns))), y


KINDS = {
    kind.name: kind
    for kind in (
        Kind("Bernoulli", binary, nb.Bernoulli(), lambda s: nb.Bernoulli(a=s, b=s), BernoulliNB()),
        Kind("Multinomial", counts, nb.Multinomial(), nb.Multinomial.laplace, MultinomialNB(), nb.fit_map),
        Kind(
            "Categorical",
            codes,
            nb.Categorical(5),
            lambda s: nb.Categorical(5, concentration=s),
            CategoricalNB(min_categories=5),
        ),
        Kind("Normal", normal, nb.Normal()),
    )
}


def _text(size: Size) -> str:
    return "{:,} x {} x {}".format(*size)


def _nuts(num_rows: int, num_draws: int, goal: str, later: bool = False) -> Workload:
    """One chain, as many draws again to warm up, and the same of the model's row-by-row program.

    At a first call nothing is compiled. Before a later one the rival too had other rows of the shape, and its sampler
    is kept.
    """

    def prepare() -> Jobs:
        X, y = _digits(num_rows, seed=0)
        model, key = nb.NaiveBayes(nb.Bernoulli(), num_classes=10), jax.random.key(0)
        draws: dict[str, Any] = {"num_warmup": num_draws, "num_samples": num_draws, "num_chains": 1}
        kept = MCMC(NUTS(model), **draws, progress_bar=False, jit_model_args=True)

        def row_by_row(X: Array = X, y: Array = y) -> object:
            sampler = kept if later else MCMC(NUTS(model), **draws, progress_bar=False)
            sampler.run(key, X, y)
            return jax.block_until_ready(sampler.get_samples())

        def through_statistics() -> object:
            return _quiet(nb.fit_nuts, model, X, y, key=key, **draws, progress_bar=False)

        if not later:
            return Jobs(_anew(row_by_row), _anew(through_statistics), X.nbytes)
        row_by_row(*_digits(num_rows, seed=1))
        return Jobs(row_by_row, through_statistics, X.nbytes)

    name = f"NUTS, {num_draws} + {num_draws} draws, {'later' if later else 'first'} call"
    return Workload(name, _text((num_rows, 64, 10)), "NUTS row by row", prepare, goal, most_rounds=1)


def _digits(num_rows: int, seed: int) -> tuple[Array, Array]:
    """The digits drawn again with replacement, their pixels on or off."""
    digits = load_digits()
    rows = np.random.default_rng(seed).integers(0, len(digits.target), num_rows)
    return (digits.data[rows] >= 8).astype(np.float32), digits.target[rows]


def _anew(job: Callable[[], object]) -> Callable[[], object]:
    """The job with all that it compiles."""

    def run() -> object:
        jax.clear_caches()
        return job()

    return run


def _quiet(function: Callable[..., object], *args: Any, **settings: Any) -> object:
    """Without the warning: so few draws are not to be trusted, and hyperparameters may lie at their bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **settings)


def _more_rows(num_draws: int) -> Jobs:
    """NUTS on the statistics of 1,000 rows in the rival's place, on those of a million in ours."""
    model, key = nb.NaiveBayes(nb.Bernoulli()), jax.random.key(0)
    settings: dict[str, Any] = {"num_warmup": num_draws, "num_samples": num_draws, "progress_bar": False}

    def job(num_rows: int) -> Callable[[], object]:
        statistics = nb.sufficient_statistics(model, *binary(num_rows, 20, 10))
        return lambda: _quiet(nb.fit_nuts, model, statistics=statistics, key=key, **settings)

    return Jobs(job(1_000), job(1_000_000), 4 * 20 * 1_000_000)


def _leave_one_out(kind: Kind, size: Size) -> Jobs:
    X, y = kind.data(*size)
    model = nb.NaiveBayes(kind.family)
    posterior = nb.fit_posterior(model, X, y)
    return Jobs(lambda: posterior.predict_log_proba(X), lambda: nb.leave_one_out(model, X, y), X.nbytes)


def _grid(kind: Kind, size: Size) -> Jobs:
    X, y = kind.data(*size)
    assert kind.smoothed is not None
    models = [nb.NaiveBayes(kind.smoothed(s)) for s in SMOOTHINGS]
    splits = list(StratifiedKFold(10).split(X, y))
    fold = np.empty(len(y), int)
    for number, (_, held_out) in enumerate(splits):
        fold[held_out] = number

    def search() -> object:
        found = GridSearchCV(kind.rival, {"alpha": SMOOTHINGS}, scoring="neg_log_loss", cv=splits, refit=False)
        return found.fit(X, y).best_params_

    def validate() -> object:
        table = nb.cross_validate(models, X, y, folds=fold, fit=kind.fit)
        return SMOOTHINGS[table[:, np.arange(len(y)), y].mean(axis=1).argmax()]

    return Jobs(search, validate, X.nbytes)


def _empirical(kind: Kind, size: Size, by: str) -> Jobs:
    X, y = kind.data(*size)
    model = nb.NaiveBayes(kind.family)
    statistics = nb.sufficient_statistics(model, X, y)

    def learn() -> object:
        return _quiet(nb.fit_empirical, model, statistics=statistics, by=by)

    return Jobs(None, learn, X.nbytes)
