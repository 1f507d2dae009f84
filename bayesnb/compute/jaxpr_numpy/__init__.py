"""JAX functions of small arrays, evaluated by numpy without compilation: JAX traces them, and numpy runs the trace.

Results are what JAX gives in double precision, to rounding, in read-only copies; what no rule has is computed by JAX,
operation by operation, and two differences are left: gamma variates, which have a stream of their own, and numbers
below the smallest normal one, in whose place XLA has zero in some operations. How it is called:

- ``evaluate(function, *args, **static)``: a module-level function is traced once for the shapes of its arguments,
  ``evaluate_once`` is for closures, ``evaluate_numbers`` for functions that treat each number of arrays alike, which
  are traced once for all shapes, and ``prepare`` gives the call before it runs, with how much work it is;
- ``with by_numpy():`` for operations one by one as they come, which give JAX arrays;
- ``RULES``: the numpy form of each primitive, a ``Rule`` with the dtypes for which it gives what JAX gives, to which
  the author of a primitive may add one; ``function_of`` an equation by these, and the ``CALLS`` of other programs;
- ``is_key``, and ``has_numpy_form``: False for random keys of another generator than JAX's default;

and what it takes from JAX is not public, or may change without notice, in these places:

- ``jax.core.eval_context``, ``jax.extend.core.set_current_trace``, ``jax.core.Trace`` with its methods
  ``process_primitive``, ``process_custom_jvp_call`` and ``process_custom_vjp_call``, and ``call_wrapped`` of the
  function that the latter two are given;
- the fields of a jaxpr and of its equations, ``Primitive.get_bind_params``, names and parameters of primitives;
- how threefry splits keys and draws bits, and the value of ``jax.threefry_partitionable``.
"""

from bayesnb.compute.jaxpr_numpy._equation import Rule as Rule
from bayesnb.compute.jaxpr_numpy._equation import function_of as function_of
from bayesnb.compute.jaxpr_numpy._equation import has_numpy_form as has_numpy_form
from bayesnb.compute.jaxpr_numpy._equation import is_key as is_key
from bayesnb.compute.jaxpr_numpy._program import CALLS as CALLS
from bayesnb.compute.jaxpr_numpy._program import by_numpy as by_numpy
from bayesnb.compute.jaxpr_numpy._program import evaluate as evaluate
from bayesnb.compute.jaxpr_numpy._program import evaluate_numbers as evaluate_numbers
from bayesnb.compute.jaxpr_numpy._program import evaluate_once as evaluate_once
from bayesnb.compute.jaxpr_numpy._program import prepare as prepare
from bayesnb.compute.jaxpr_numpy._rules import RULES as RULES
