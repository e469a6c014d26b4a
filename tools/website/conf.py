"""Sphinx settings of the site: Furo as its theme, Markdown by MyST, and nothing that is fetched from elsewhere."""

from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import clearway

project = "Clearway"
author = "The authors of Clearway"
project_copyright = "The authors of Clearway, Apache-2.0"
release = clearway.__version__

extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns: list[str] = []

# Headings get the anchors that GitHub gives them, so that one link works in both places.
myst_heading_anchors = 6
myst_enable_extensions = ["attrs_inline"]

# Quotation marks and dashes stay as they are written, since many of them are code.
smartquotes = False

html_theme = "furo"
html_title = "Clearway"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0a58ca", "color-brand-content": "#0a58ca"},
    "dark_css_variables": {"color-brand-primary": "#58a6ff", "color-brand-content": "#6cb0ff"},
}
highlight_language = "text"
pygments_style = "default"
pygments_dark_style = "github-dark"

# Furo's list of all pages at the side of each takes half of the time of a build, and is no part of what is checked.
if tags.has("plain"):  # type: ignore[name-defined]  # noqa: F821  # Sphinx defines it
    html_theme, html_theme_options = "basic", {}


def setup(app: Sphinx) -> None:
    """Shows lists of values, for which Pygments has no lexer, as they are."""
    app.add_lexer("csv", TextLexer)
