"""Naive Bayes written once, as a NumPyro program; MLE, MAP, exact posterior and NUTS from that one specification.

    import bayesnb as nb
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X, y)    # X [N, D], labels y 0..K-1; NaN is missing
    post.predict_proba(X_new), post.log_evidence

The model        NaiveBayes: a class prior and a likelihood for each block of columns; from_numpyro, infer_likelihoods
Likelihoods      Bernoulli, Binomial, Categorical, Multinomial, Poisson, Normal, NormalKnownVariance,
                 MultivariateNormal, Histogram, Views with NormalScores; Likelihood: any distribution of NumPyro;
                 OneRate: those of one parameter that have a conjugate prior;
                 LogNormal, LogitNormal, Transformed, Hurdle: of logarithms, and of zeros beside a density;
                 Family is their contract
Fits             fit_mle, fit_map, fit_posterior: closed forms; fit_nuts: draws
                 fit_empirical, fit_averaged, fit_forests: a learned prior, all subsets of features, all forests
                 fit_em, fit_multilabel: unlabelled rows, several labels a row
                 fit_table: rows of files, frames, queries and streams; fit_file: a path
Predictions      predict_proba, predict_interval, log_joint and others are methods of every fit; decide, roll_up
Held-out rows    leave_one_out, cross_validate; temper learns powers on them, against over-confidence;
                 stacking_weights average several fits
Experiments      experiment: methods on the same splits of several sets, an Experiment; methods, forward;
                 load_experiment, merge_experiments
What a fit says  explain, top_features, feature_inclusion, dependence, compare_evidence, num_parameters, linear_form,
                 to_arviz
Does the prior   prior_sensitivity, prior_gradient; of tables of categories, robustness: how many pseudo-rows change a
matter?          decision, and decide_set: the decisions that no prior of a set changes
Parts of rows    sufficient_statistics, no_rows, merge, subtract, discount, stream; prequential, fit_forgetting;
                 describe_table, predict_table: tables of any size
Elsewhere        estimate_class_probs: other frequencies of classes
Types            Rows, Table, LabelsLike, Array, for the signatures of your own functions; bayesnb.results: what
                 functions return, such as results.Explanation
Files            save, load; export
scikit-learn     NaiveBayesClassifier; bayesnb.sklearn: GaussianNB and the other four
Pictures         bayesnb.plots

help(bayesnb.NAME) describes each. The names stand in ``__init__.pyi``; JAX and NumPyro load when one is first used.
"""

import lazy_loader

__version__ = "0.2.0"

_lazy, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_ELSEWHERE = {
    "fit": "fit_posterior",
    "fit_bayes": "fit_posterior",
    "fit_full_bayes": "fit_posterior",
    "fit_exact": "fit_posterior",
    "fit_ml": "fit_mle",
    "fit_mcmc": "fit_nuts",
    "fit_hmc": "fit_nuts",
    "fit_empirical_bayes": "fit_empirical",
    "Gaussian": "Normal",
    "GaussianNB": "sklearn.GaussianNB",
    "MultinomialNB": "sklearn.MultinomialNB",
    "BernoulliNB": "sklearn.BernoulliNB",
    "CategoricalNB": "sklearn.CategoricalNB",
    "ComplementNB": "sklearn.ComplementNB",
    "Beta": "Bernoulli",
    "Dirichlet": "Categorical",
    "Model": "NaiveBayes",
    "Classifier": "NaiveBayesClassifier",
    "calibrate": "temper",
    "loo": "leave_one_out",
    "bayes_factor": "compare_evidence",
    "read": "load",
    "Intervals": "results.ExplanationIntervals",
}
"""Names that other packages or books use."""

LEFT = {
    "bootstrap": "jax.vmap over weights",
    "diagnose": "arviz.summary(nb.to_arviz(draws))",
    "load_exported": "jax.export.deserialize(...).call",
    "quadratic_form": "two lines for MultivariateNormal",
}
"""Names that have left, each with what to do instead."""


def __getattr__(name: str) -> object:
    """The public name, or an error that says which one may be meant."""
    try:
        return _lazy(name)
    except ModuleNotFoundError:
        import re
        from pathlib import Path

        from bayesnb.compute.arrays._extras import needed_by

        home = re.search(rf"^from \.(\w+).* import {name} as", Path(__file__).with_suffix(".pyi").read_text(), re.M)
        with needed_by(name, home[1] if home else "core"):
            raise
    except AttributeError:
        if name in _lazy("results").__all__:
            return getattr(_lazy("results"), name)  # where the types of results had their public names until 0.1
        if name.startswith("_") or name in __all__:
            raise  # a name that exists failed to load: its own error says why
        if name in LEFT:
            raise AttributeError(f"nb.{name} has left: {LEFT[name]}, docs/how_to/in_two_lines.md") from None
        import difflib

        known = {other.lower(): right for other, right in _ELSEWHERE.items()} | {one.lower(): one for one in __all__}
        near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
        meant = f": did you mean {known[near[0]]}?" if near else ""
        raise AttributeError(f"module 'bayesnb' has no attribute {name!r}{meant}") from None
