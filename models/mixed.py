"""Naive Bayes for a table of mixed columns: binary symptoms, a blood type, and measured vitals.

    pi                  ~ Dirichlet(1, ..., 1)
    p_kd                ~ Beta(1, 1)                       probability of symptom d in class k
    q_k                 ~ Dirichlet(1, ..., 1)             probabilities of the blood types in class k
    sigma2_kd           ~ InverseGamma(shape, rate)        variance of vital sign d in class k
    mu_kd               ~ Normal(loc, sigma2_kd / strength)
    y_n                 ~ Categorical(pi)
    symptom_nd | y_n=k  ~ Bernoulli(p_kd)
    blood_n | y_n=k     ~ Categorical(q_k)
    vital_nd | y_n=k    ~ Normal(mu_kd, sigma2_kd)

Given the class all columns are independent, so the likelihoods of the blocks multiply and the class prior counts once.
John and Langley, Estimating continuous distributions in Bayesian classifiers (1995), section 2.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array


def model(
    symptoms: Array,
    blood: Array,
    vitals: Array,
    y: Array,
    num_classes: int,
    *,
    blood_types: int = 4,
    loc: float | Array = 0.0,
    strength: float = 1.0,
    shape: float = 1.0,
    rate: float | Array = 1.0,
) -> None:
    """symptoms: zeros and ones [N, S]; blood: codes [N, 1]; vitals: real numbers [N, V]; y: classes 0..K-1 [N]."""
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.ones(num_classes)))
    classes = numpyro.plate("classes", num_classes, dim=-2)
    with classes, numpyro.plate("symptom", symptoms.shape[1], dim=-1):
        p = numpyro.sample("symptoms_probs", dist.Beta(1.0, 1.0))
    with classes, numpyro.plate("blood_type", 1, dim=-1):
        q = numpyro.sample("blood_probs", dist.Dirichlet(jnp.ones(blood_types)))
    with classes, numpyro.plate("vital", vitals.shape[1], dim=-1):
        variance = numpyro.sample("vitals_variance", dist.InverseGamma(shape, rate))
        mean = numpyro.sample("vitals_loc", dist.Normal(loc, jnp.sqrt(variance / strength)))
    with numpyro.plate("rows", len(y)):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("symptoms", dist.Bernoulli(p[label]).to_event(1), obs=symptoms)
        numpyro.sample("blood", dist.Categorical(q[label]).to_event(1), obs=blood)
        numpyro.sample("vitals", dist.Normal(mean[label], jnp.sqrt(variance[label])).to_event(1), obs=vitals)
