"""How the site is built: ``sphinx-build -nW docs docs/_build``. No page loads anything from elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE / "_extensions")]
# the kernels that run tutorials find this tree, and the examples that they import or start
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(ROOT), str(ROOT / "examples"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # kernels show what they draw

project = "bayesnb"
author = "The bayesnb developers"
project_copyright = "The bayesnb developers"
version = release = "0.2.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "accessible",
    "derivations",
    "docstrings",
    "example_links",
    "formulas",
    "layers",
    "thumbnails",
    "tutorials",
]
exclude_patterns = ["_build", "_extensions", "conf.py", "jupyter_execute"]
suppress_warnings = ["config.cache"]  # functions of the extensions, which the cache of pages cannot keep

# pages
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "bayesnb"
html_static_path = ["_static"]
html_css_files = ["bayesnb.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
# colours of code with enough contrast on their grounds, in light and in dark pages
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# docstrings
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
add_module_names = False

# what other packages define is named, without a link: their pages are elsewhere
nitpick_ignore_regex = [
    ("py:.*", r"(collections|jax|numpy|numpyro|pandas|sklearn|matplotlib)\..*|DataError"),
    ("py:.*", r".*\.(Choice|PairStatistics|Asked|Summary|RowSample)"),
]

# tutorials run while the site is built, and a cell that raises ends the build
nb_custom_formats = {".py": ["tutorials.read", {}]}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 150
nb_execution_in_temp = True
nb_merge_streams = True
nb_output_stderr = "remove"
