"""An average of predictions: of a posterior, of the same with forests of dependence, and with covariances of numbers.

    p(k | x)  =  sum_m s_m p_m(k | x)

Each part has powers of its own, and the shares s are learned on leave-one-out predictions (``validation._stacking``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Self

from bayesnb.compute.arrays._compute import answers_cpu_rows
from bayesnb.compute.arrays._loops import one_blas_thread
from bayesnb.compute.arrays._placement import Array, pytree, short_repr
from bayesnb.compute.arrays._typing import ArrayLike, Rows
from bayesnb.compute.numerics._log_prob import LogProb, joint
from bayesnb.compute.primitives.products._linear_scores import Score
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.results._combine import add_forests, log_average, raise_to_powers
from bayesnb.core.results._intervals import ParameterDraws
from bayesnb.learned.forests._layout import Segments
from bayesnb.learned.forests._pairs import PairStatistics
from bayesnb.learned.forests._posterior import ForestPosterior, score_forests

COLUMNS = "columns"
"""The name of the part without dependence."""

COVARIANCES = {"lda": "shared", "qda": "full"}
"""The covariance of numbers by the names of parts: linear and quadratic discriminant analysis."""


@pytree
class StackedPosterior(Posterior):
    """The posterior averaged with models of dependence, as ``NaiveBayesClassifier`` fits by default.

        p(k | x) = sum_m s_m p_m(k | x)

    The first part is the posterior itself with its ``powers``; the others are the same with the dependence of
    ``fit_forests``, "best" and "aode", of numbers in bins, and with numbers that are a ``MultivariateNormal``, of one
    covariance for all classes ("lda") and of one for each ("qda"); each part has powers of its own. Parameters, their
    draws, p(x) and the evidence are those of the posterior, and explanations add one term, ``dependence``, to its
    columns'.

    Attributes:
        shares: The weight of each part, [M], which sum to one.
        log_losses: The mean of -log p(y | x, the other rows) of each part, and of the average, [M + 1]. Of up to 100
            rows the loss with dependence is the larger one of this and of five folds.
        pairs: The statistics of all pairs of columns; None without forests.
        structures: The structures of the forests.
        forest_powers: Of each structure the powers by block, and that of the forest's ratio.
        parents: Those of the "best" forest.
        apart: The blocks that depend on the class alone: sparse ones, those whose classes share parameters, and those
            of a Likelihood.
        normals: By "lda" and "qda" the posterior whose numbers have a covariance, with its powers.

    Example:
        >>> import bayesnb as nb, pandas as pd
        >>> X = pd.DataFrame({"a": ["x", "x", "y", "y"] * 10, "b": ["x", "y", "x", "y"] * 10})
        >>> clf = nb.NaiveBayesClassifier().fit(X, (X["a"] == X["b"]).astype(int))
        >>> clf.fit_.parts
        ('columns', 'best', 'aode')
        >>> clf.predict(X[:4]).tolist()
        [1, 0, 0, 1]
    """

    shares: Array = field(kw_only=True)
    log_losses: Array = field(kw_only=True)
    pairs: PairStatistics | None = field(kw_only=True)
    forest_powers: tuple[tuple[dict[str, Array], Array], ...] = field(kw_only=True)
    parents: Array | None = field(kw_only=True)
    structures: tuple[str, ...] = field(kw_only=True, metadata={"static": True})
    segments: Segments = field(kw_only=True, metadata={"static": True})
    apart: tuple[str, ...] = field(kw_only=True, default=(), metadata={"static": True})
    normals: dict[str, Posterior] = field(kw_only=True, default_factory=dict)

    def __repr__(self) -> str:
        shares = ", ".join(f"{name}: {short_repr(share)}" for name, share in zip(self.parts, self.shares, strict=True))
        return f"{super().__repr__()[:-1]}, shares={{{shares}}})"

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts, [M]."""
        return (COLUMNS, *self.structures, *self.normals)

    @property
    def alone(self) -> Posterior:
        """The first part: the posterior with its powers, without dependence."""
        of_words = self.length_exponents, self.class_power
        return Posterior(self.prior, self.model, self.statistics, self.powers, *of_words)

    @property
    def forests(self) -> dict[str, ForestPosterior]:
        """The parts with forests by structure."""
        pairs: Any = self.pairs
        return {
            structure: ForestPosterior(
                replace(self.alone, powers=powers),
                pairs,
                parents=self.parents if structure == "best" else None,
                power=power,
                structure=structure,
                segments=self.segments,
                apart=self.apart,
            )
            for structure, (powers, power) in zip(self.structures, self.forest_powers, strict=True)
        }

    def with_powers(
        self,
        powers: ArrayLike | Mapping[str, ArrayLike],
        *,
        length_exponents: ArrayLike | Mapping[str, ArrayLike] | None = None,
        class_power: ArrayLike | None = None,
    ) -> Self:
        """ValueError: each part has powers of its own."""
        del powers, length_exponents, class_power
        raise ValueError("a StackedPosterior has powers of each part: give them to its first part, fit.alone")

    @answers_cpu_rows
    def log_joint(self, X: Rows) -> Array:
        """log p(y = k | x) of the average plus the posterior's log p(x), [N, K]."""
        return self.predict_log_proba(X) + Posterior(self.prior, self.model, self.statistics).log_density(X)[:, None]

    def _draw_parameters(self, X: Any, level: float, key: Array, num_draws: int) -> ParameterDraws:
        del X, level, key, num_draws
        raise ValueError(
            "an average of several models has no intervals, as the parameters of each are integrated out: take its "
            "first part, fit.alone, or fit with NaiveBayesClassifier(dependence=False)"
        )

    def _scorer(self) -> Score:
        # another population multiplies the odds of the average, and not those of its parts
        learned = self.model._replace(class_probs=None)
        odds = self.model.class_mean() / learned.class_mean()
        forests = [*self.forests.values()]
        log_ratios = score_forests(forests) if forests else lambda _: ()
        scores = [(raise_to_powers(learned, one.posterior.all_powers), one.power) for one in forests]
        alone = raise_to_powers(learned, self.all_powers)
        normals = [(one.model._replace(class_probs=None), one.all_powers) for one in self.normals.values()]
        with one_blas_thread():  # of few rows its threads wait for each other more than they work
            others = [raise_to_powers(model, powers) for model, powers in normals]

        def of_rows(arrays: Any) -> LogProb:
            parts = zip(scores, log_ratios(arrays), strict=True)
            with_forests = [add_forests(score(arrays), ratio, power) for (score, power), ratio in parts]
            found = [alone(arrays), *with_forests, *(score(arrays) for score in others)]
            return joint(odds, [LogProb(log_average([one.normalise() for one in found], self.shares), None)])

        return of_rows


def average(fits: Mapping[str, Posterior | ForestPosterior], shares: Array, log_losses: Array) -> StackedPosterior:
    """The average of fits by the names of parts, with their powers; the first is that of the columns."""
    first: Any = fits[COLUMNS]
    forests = {name: fit for name, fit in fits.items() if isinstance(fit, ForestPosterior)}
    one = next(iter(forests.values()), None)
    return StackedPosterior(
        first.prior,
        first.model,
        first.statistics,
        first.powers,
        first.length_exponents,
        first.class_power,
        shares=shares,
        log_losses=log_losses,
        pairs=None if one is None else one.pairs,
        forest_powers=tuple((fit.posterior.powers or {}, fit.power) for fit in forests.values()),
        structures=tuple(forests),
        parents=forests["best"].parents if "best" in forests else None,
        segments=() if one is None else one.segments,
        apart=() if one is None else one.apart,
        normals={name: fit for name, fit in fits.items() if isinstance(fit, Posterior) and name != COLUMNS},
    )
