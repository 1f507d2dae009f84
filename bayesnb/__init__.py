"""Naive Bayes written once, as a NumPyro program; MLE, MAP, exact posterior and NUTS from that one specification."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesnb.arviz import to_arviz as to_arviz
from bayesnb.averaged import AveragedPosterior as AveragedPosterior
from bayesnb.averaged import fit_averaged as fit_averaged
from bayesnb.bootstrap import Bootstrap as Bootstrap
from bayesnb.bootstrap import bootstrap as bootstrap
from bayesnb.cross_validate import cross_validate as cross_validate
from bayesnb.dependence import Dependence as Dependence
from bayesnb.dependence import dependence as dependence
from bayesnb.diagnose import Diagnosis as Diagnosis
from bayesnb.diagnose import diagnose as diagnose
from bayesnb.draws import Draws as Draws
from bayesnb.em import EMEstimate as EMEstimate
from bayesnb.em import fit_em as fit_em
from bayesnb.empirical import EmpiricalPosterior as EmpiricalPosterior
from bayesnb.empirical import fit_empirical as fit_empirical
from bayesnb.evidence import EvidenceTable as EvidenceTable
from bayesnb.explain import explain as explain
from bayesnb.explanation import Explanation as Explanation
from bayesnb.export import ExportedClassifier as ExportedClassifier
from bayesnb.export import export as export
from bayesnb.export import load_exported as load_exported
from bayesnb.families import Bernoulli as Bernoulli
from bayesnb.families import Binomial as Binomial
from bayesnb.families import Categorical as Categorical
from bayesnb.families import Family as Family
from bayesnb.families import Multinomial as Multinomial
from bayesnb.families import MultivariateNormal as MultivariateNormal
from bayesnb.families import Normal as Normal
from bayesnb.families import Poisson as Poisson
from bayesnb.fit import fit_map as fit_map
from bayesnb.fit import fit_mle as fit_mle
from bayesnb.fit import fit_posterior as fit_posterior
from bayesnb.forms import linear_form as linear_form
from bayesnb.forms import quadratic_form as quadratic_form
from bayesnb.inclusion import FeatureInclusion as FeatureInclusion
from bayesnb.inclusion import feature_inclusion as feature_inclusion
from bayesnb.leave_one_out import leave_one_out as leave_one_out
from bayesnb.model import NaiveBayes as NaiveBayes
from bayesnb.multilabel import MultiLabel as MultiLabel
from bayesnb.multilabel import fit_multilabel as fit_multilabel
from bayesnb.num_parameters import num_parameters as num_parameters
from bayesnb.nuts import fit_nuts as fit_nuts
from bayesnb.results import PointEstimate as PointEstimate
from bayesnb.results import Posterior as Posterior
from bayesnb.statistics import merge as merge
from bayesnb.statistics import sufficient_statistics as sufficient_statistics
from bayesnb.storage import StorageError as StorageError
from bayesnb.storage import load as load
from bayesnb.storage import save as save
from bayesnb.streaming import StreamError as StreamError
from bayesnb.streaming import stream as stream
from bayesnb.temper import temper as temper
from bayesnb.top_features import top_features as top_features

if TYPE_CHECKING:
    from bayesnb.estimator import NaiveBayesClassifier as NaiveBayesClassifier

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # scikit-learn, and the pictures, load when they are first used
    if name == "NaiveBayesClassifier":
        return import_module("bayesnb.estimator").NaiveBayesClassifier
    if name in ("plots", "sklearn"):
        return import_module(f"bayesnb.{name}")
    raise AttributeError(f"module 'bayesnb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "NaiveBayesClassifier", "plots", "sklearn"})
