"""Naive Bayes written once, as a NumPyro program; MLE, MAP, exact posterior and NUTS from that one specification.

The public names stand in ``__init__.pyi``. JAX and NumPyro load when one of them is first used.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
