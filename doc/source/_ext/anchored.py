"""Anchors for the entries of pages that are searched: links to one error, or one symptom."""

from docutils import nodes
from sphinx.application import Sphinx


def _anchor(app: Sphinx, doctree: nodes.document) -> None:
    """Give each term of the configured pages an id, and a link to it."""
    if app.env.docname not in app.config.anchored_pages:
        return
    for term in doctree.findall(nodes.term):
        anchor = nodes.make_id(term.astext())
        term["ids"].append(anchor)
        term += nodes.reference("", "¶", refuri=f"#{anchor}", classes=["headerlink"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("anchored_pages", [], "env")
    app.connect("doctree-read", _anchor)
    return {"parallel_read_safe": True}
