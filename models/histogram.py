r"""Naive Bayes for real features whose densities are step functions, with unknown steps that the classes share.

    pi            ~ Dirichlet(class_concentration, ..., class_concentration)
    A_d           ~ one of the totals, each as probable as the others
    cuts_d        ~ each number 0, ..., G - 1 as probable as the others, and so each place given the number
    theta_kd      ~ Dirichlet(A_d q_d)                        over the G bins of column d, of mass q_d
    y_n           ~ Categorical(pi)
    x_nd | y_n=k  has in bin g of segment s the probability  q_dg / q_ds sum of theta_kd over s

The segments are the bins between two cuts. Inside a bin x is uniform; below the first edge and above the last it
falls exponentially, over the width of the next bin. Sums of Dirichlet probabilities are Dirichlet, so a class has a
Dirichlet(A_d q_ds) over the segments, whatever the cuts. The prior of the cuts is that of Boulle, MODL: a Bayes optimal
discretization method for continuous attributes, Machine Learning 65 (2006).

Update
------

The statistics are the counts $n_{kg}$ of bins by class. Given a set of cuts, the segments between them have counts
$n_{ks}=\sum_{g\in s}n_{kg}$, and sums of Dirichlet probabilities are Dirichlet:

$$p_k\mid\text{cuts},A,n\sim\mathrm{Dirichlet}(A\,q_s+n_{ks})_s.$$

Averaging over all cuts
-----------------------

There are $2^{G-1}$ sets of cuts. The evidence of one is a product over its segments,

$$p(x\mid\text{cuts},A)=\prod_k\frac{\Gamma(A)}{\Gamma(A+n_k)}
\;\prod_s\underbrace{\prod_k\frac{\Gamma(Aq_s+n_{ks})}{\Gamma(Aq_s)}
\Bigl(\prod_{g\in s}\frac{q_g^{n_{kg}}}{q_s^{n_{kg}}}\Bigr)}_{w(s)}.$$

So the sum over all sets is a recursion: let $F(g)$ be the sum over all ways to cut the bins before $g$, then
$F(g)=\sum_{h<g}F(h)\,w(h..g)$, for each number of cuts. This takes $G^2$ steps and not $2^G$.

Mode and maximum likelihood
---------------------------

The most probable cuts and total follow from the same recursion with a maximum for the sum, and given these the mode of
the segments' probabilities is a Dirichlet's. The likelihood is largest at the shares of the finest bins.

Predictive
----------

The mean over cuts of the Dirichlet mean of the bin's segment:

$$p_k(g)=\sum_{\text{cuts},A}p(\text{cuts},A\mid X,y)\;\frac{q_g}{q_s}\;\frac{Aq_s+n_{ks}}{A+n_k},\qquad s\ni g.$$

Evidence
--------

The sum itself, $\log\sum_A\sum_{\text{cuts}}p(\text{cuts})\,p(x\mid\text{cuts},A)$, and the density inside the bins.

Leave-one-out
-------------

For each class and bin the recursion is run again with one row less there; rows that share a bin share the answer.
"""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array, random
from jax.scipy.special import gammaln


class Cuts(dist.Distribution):
    """Zeros and ones [G - 1]; with p ~ Uniform(0, 1) integrated out, each is 1 with probability p."""

    support = dist.constraints.independent(dist.constraints.boolean, 1)

    def __init__(self, num_columns: int, num_bins: int) -> None:
        super().__init__(batch_shape=(num_columns,), event_shape=(num_bins - 1,))

    def log_prob(self, value: Array) -> Array:
        """The log probability of the cuts of each column, [D]."""
        number, most = value.sum(-1), value.shape[-1]
        return gammaln(number + 1.0) + gammaln(most - number + 1.0) - gammaln(most + 2.0)

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Cuts of each column, [..., D, G - 1]."""
        keys, columns = random.split(key), (*sample_shape, *self.batch_shape)
        p = random.uniform(keys[0], (*columns, 1))
        return random.bernoulli(keys[1], p, (*columns, *self.event_shape)).astype(int)


class Steps(dist.Distribution):
    """Real numbers [N, D] with probabilities [N, D, G] of the bins between edges [D, G - 1]."""

    support = dist.constraints.real

    def __init__(self, probs: Array, edges: Array) -> None:
        self.probs, self.edges = probs, edges
        super().__init__(batch_shape=probs.shape[:-1])

    def log_prob(self, value: Array) -> Array:
        """The log density of each number, [N, D]."""
        own = (value[..., None] >= self.edges).sum(-1)
        width = jnp.diff(self.edges)
        width = jnp.concatenate([width[:, :1], width, width[:, -1:]], axis=-1)
        probs, width = (
            jnp.take_along_axis(jnp.broadcast_to(table, self.probs.shape), own[..., None], -1)[..., 0]
            for table in (self.probs, width)
        )
        beyond = jnp.maximum(self.edges[:, 0] - value, 0.0) + jnp.maximum(value - self.edges[:, -1], 0.0)
        return jnp.log(probs) - jnp.log(width) - beyond / width

    def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:
        """Numbers, [..., N, D]."""
        keys, shape = random.split(key, 3), (*sample_shape, *self.batch_shape)
        own = random.categorical(keys[0], jnp.log(self.probs), axis=-1, shape=shape)
        column, last = jnp.arange(shape[-1]), self.edges.shape[-1]
        low, width = (
            self.edges[column, jnp.maximum(own - 1, 0)],
            jnp.diff(self.edges)[column, (own - 1).clip(0, last - 2)],
        )
        within, beyond = width * random.uniform(keys[1], shape), width * random.exponential(keys[2], shape)
        return low + jnp.where(own == 0, -beyond, jnp.where(own == last, beyond, within))


def model(
    X: Array,
    y: Array,
    num_classes: int,
    *,
    edges: Array,
    mass: Array,
    totals: tuple[float, ...] = (1.0, 4.0),
    class_concentration: float = 1.0,
) -> None:
    """X: real numbers [N, D]; y: classes 0..K-1 [N]; edges [D, G - 1] rise, at least two; mass [D, G] sums to 1."""
    num_rows, num_columns = X.shape
    num_bins = mass.shape[1]
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(jnp.full(num_classes, class_concentration)))
    with numpyro.plate("features", num_columns, dim=-1):
        total = numpyro.sample("x_total", dist.Categorical(jnp.full(len(totals), 1.0 / len(totals))))
        cuts = numpyro.sample("x_cuts", Cuts(num_columns, num_bins))
        with numpyro.plate("classes", num_classes, dim=-2):
            probs = numpyro.sample("x_probs", dist.Dirichlet(jnp.asarray(totals)[total][:, None] * mass))
    segment = jnp.concatenate([jnp.zeros((num_columns, 1), int), jnp.cumsum(cuts, axis=-1)], axis=-1)
    together = segment[:, :, None] == segment[:, None, :]  # of two bins of a column
    within = mass / (together * mass[:, None]).sum(-1) * (together * probs[:, :, None]).sum(-1)
    with numpyro.plate("rows", num_rows):
        label = numpyro.sample("label", dist.Categorical(class_probs), obs=y)
        numpyro.sample("x", Steps(within[label], edges).to_event(1), obs=X)
