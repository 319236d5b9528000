"""Anchors for the entries of pages that are searched: links to one error, symptom or code."""

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


def _note_codes(app: Sphinx, doctree: nodes.document) -> None:
    """Let other pages refer to the section of an error's code."""
    for title in doctree.findall(nodes.title):
        code = title.astext()
        if code.startswith("KV-"):
            anchor = title.parent["ids"][0]
            domain = app.env.domains["std"]
            domain.note_hyperlink_target(code.lower(), app.env.docname, anchor, code)


def setup(app: Sphinx) -> dict[str, int]:
    app.add_config_value("anchored_pages", [], "env")
    app.connect("doctree-read", _anchor)
    app.connect("doctree-read", _note_codes)
    # Pages that were read without the codes are read anew.
    return {"parallel_read_safe": True, "env_version": 1}
