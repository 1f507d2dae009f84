"""JAX functions of small arrays, evaluated by numpy without compilation.

It knows JAX's primitives, and must not know what they are used for. A table says for which dtypes numpy gives what JAX
gives (``rules``); every other operation is JAX's own. Two differences are left: gamma variates, and numbers below the
smallest normal one, in whose place XLA has zero in some operations.
"""

from bayesnb.arrays.interpreter.eager import by_numpy as by_numpy
from bayesnb.arrays.interpreter.equation import has_numpy_form as has_numpy_form
from bayesnb.arrays.interpreter.program import evaluate as evaluate
from bayesnb.arrays.interpreter.program import evaluate_once as evaluate_once
from bayesnb.arrays.interpreter.program import prepare as prepare
