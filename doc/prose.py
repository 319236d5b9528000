"""Look for phrases that a reader has to read twice: python doc/prose.py FILE...

``phrases.txt`` beside this program has them. Literals are left out, for they quote programs.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_LITERAL = re.compile(r"``[^`]*``")


def _phrases() -> Iterator[tuple[re.Pattern[str], str]]:
    for line in Path(__file__).with_name("phrases.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            phrase, _, better = line.partition(" -> ")
            pattern = phrase.replace(" ", r"\s+")
            yield re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), better


def _without_literals(text: str) -> str:
    """The text with its literals blanked, and with its lines."""
    return _LITERAL.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)


def main(paths: list[str]) -> int:
    """Print each phrase with its place; returns an exit status."""
    phrases, found = list(_phrases()), 0
    for path in paths:
        text = _without_literals(Path(path).read_text())
        for pattern, better in phrases:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                print(f"{path}:{line}: {' '.join(match[0].split())!r}: write {better}")
                found += 1
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
