"""The directive ``request``: what the scenarios send, as a version of the API takes it."""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx

from tools.client.api import V1, V2

_REQUESTS = Path(__file__).parents[3] / "functional" / "requests"
_APIS = {"v1": V1(), "v2": V2()}
# Ids that the reader fills in; the scenarios take those of their cloud.
_PLACEHOLDERS = {
    '"vimId": ""': '"vimId": "VIM-ID"',
    '"resourceId": "public"': '"resourceId": "NETWORK-ID"',
}


class RequestDirective(Directive):
    """``.. request:: kubernetes/complex.json``, with ``:api: v2`` for the newer API.

    ``:without: image_path`` leaves a parameter of the driver out. The ids of VIM and networks are
    placeholders.
    """

    required_arguments = 1
    option_spec = {
        "api": lambda value: directives.choice(value, tuple(_APIS)),
        "without": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        path = _REQUESTS / self.arguments[0]
        env = self.state.document.settings.env
        env.note_dependency(str(path))
        api = _APIS[self.options.get("api", "v1")]
        request = json.loads(path.read_text())
        for params in request["additionalParams"].values():
            if isinstance(params, dict):
                params.pop(self.options.get("without", ""), None)
        sent = json.dumps(api.instantiation(request), indent=2)
        for empty, placeholder in _PLACEHOLDERS.items():
            sent = sent.replace(empty, placeholder)
        return [nodes.literal_block(sent, sent, language="json")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("request", RequestDirective)
    return {"parallel_read_safe": True}
