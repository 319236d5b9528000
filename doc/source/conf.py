"""Sphinx configuration of the user guide."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

# The guide shows what the code has: operations, parameters, and requests that the scenarios send.
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent / "_ext")]

from mgmt_drivers import __version__ as release  # noqa: E402 - needs the path above

project = "tacker-mgmt-drivers"
html_title = f"{project} {release}"
copyright = "2026, the tacker-mgmt-drivers developers"  # noqa: A001 - Sphinx's name
extensions = [
    "anchored",
    "api_requests",
    "parameters",
    "phase_pictures",
    "outlines",
    "reno.sphinxext",
    "sphinx.ext.graphviz",
    "sphinx_copybutton",
    "sphinx_design",
    "timelines",
]
anchored_pages = ["howto/faq", "howto/symptoms", "howto/troubleshooting"]
graphviz_output_format = "svg"
# The button copies commands without their prompts, and no output.
copybutton_prompt_text = r"[$#] "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_here_doc_delimiter = "END"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
exclude_patterns: list[str] = []


def _title_notes(_: Sphinx, doctree: nodes.document) -> None:
    """Title the notes by their version: as long as there is no tag, reno takes 0.0.0."""
    for title in doctree.findall(nodes.title):
        if title.astext() == "0.0.0":
            title[:] = [nodes.Text(release)]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _title_notes, priority=400)  # before the contents are collected
