"""How Sphinx builds the documentation: `make docs`."""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from verbs import verbs_in_words

from surecut import __version__

project = "surecut"
copyright = "the surecut contributors"
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
default_role = "code"  # docstrings write `names` as Markdown does

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "surecut"
html_static_path = ["_static"]
html_css_files = ["surecut.css"]
html_show_sphinx = False
html_copy_source = False

_VERBS_HERE = "<!-- every verb and option -->"


def _filled(app: Any, page: str, source: list[str]) -> None:
    """Put in the command-line reference; a link to what is not part of the site stays as text."""
    beyond = re.escape("../" * (page.count("/") + 1))
    outside = re.compile(rf"\[([^\]]+)\]\({beyond}[^)]*\)")
    source[0] = outside.sub(r"`\1`", source[0].replace(_VERBS_HERE, verbs_in_words()))


def setup(app: Any) -> None:
    app.connect("source-read", _filled)
