"""Edits of YAML as text, which keep comments and formatting."""

from dataclasses import dataclass, field

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode


@dataclass
class Document:
    """A YAML document and the edits of its text, which :meth:`edited` applies together."""

    text: str
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._root: Node | None = yaml.compose(self.text, yaml.SafeLoader)

    def at(self, *path: str | int) -> Node | None:
        """The node at a path of keys and of places in lists; None if there is none."""
        node = self._root
        for key in path:
            if isinstance(key, int):
                items = node.value if isinstance(node, SequenceNode) else []
                node = items[key] if key < len(items) else None
            else:
                node = next((value for name, value in pairs(node) if name.value == key), None)
        return node

    def put_first(self, node: Node | None, lines: str) -> bool:
        """Put lines, without their indentation, before the first item of a list or mapping.

        :returns: whether the lines were put: the node must exist and use block style
        """
        if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
            return False
        begin = self._line_of(node.start_mark.index)
        indent = " " * node.start_mark.column
        text = "".join(f"{indent}{line}\n" for line in lines.splitlines())
        self._edits.append((begin, begin, text))
        return True

    def replace(self, node: Node, text: str) -> None:
        """Replace a scalar by a text."""
        self._edits.append((node.start_mark.index, node.end_mark.index, text))

    def remove(self, parent: Node | None, key: str) -> None:
        """Remove the lines of a key from a mapping."""
        name, value = next(pair for pair in pairs(parent) if pair[0].value == key)
        begin = self._line_of(name.start_mark.index)
        end = value.end_mark.index
        if not isinstance(value, CollectionNode) or value.flow_style:
            end = self.text.find("\n", end) + 1 or len(self.text)
        elif end < len(self.text):
            end = self._line_of(end)  # the line of the next key, before its indentation
        self._edits.append((begin, end, ""))

    def edited(self) -> str:
        text = self.text
        for begin, end, new in sorted(self._edits, reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def _line_of(self, index: int) -> int:
        """The index at which the line of another index begins."""
        return self.text.rfind("\n", 0, index) + 1


def pairs(node: Node | None) -> list[tuple[Node, Node]]:
    """Keys and values of a mapping; empty for other nodes."""
    return list(node.value) if isinstance(node, MappingNode) else []
