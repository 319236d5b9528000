"""Holds what became of a request against what its parameters say."""

import functools
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.fuzz import syntaxes
from tools.fuzz.machines import Command, Rendering
from tools.fuzz.meaning import Finding, Meaning, text_of
from tools.fuzz.syntaxes import Malformed

# What is made anew each time: numbers, ids of tokens and processes, digests, names, and the time
# since which a lock is held.
_MADE = re.compile(
    r"(mgmt-driver\.settings=|master-|worker-)?[0-9a-z]{1,16}|bootstrap-token-[0-9a-z]{6}"
    r"|[a-z ]+ of VNF vnf-1, since 1970-01-01 [0-9]{2}:[0-9]{2}:[0-9]{2} UTC"
)
# Settings of the package's script that are what parameters say, and never a habit.
_SAID = re.compile(
    "(KUBERNETES_VERSION|PACKAGE_REPOSITORY|PACKAGE_KEY|IMAGE_REPOSITORY|CONTAINER_RUNTIME)="
)
_SOURCE = "PACKAGE_REPOSITORY="
_DIGEST = re.compile(r"[0-9a-f]{64}\n|")
_INSIDE = "mounted "  # begins what the simulation itself notes among the files
_SECRETS = ("password", "ssh_password", "private_key", "http_proxy", "https_proxy")
_SHORTEST_SECRET = 8  # characters; a shorter one is found anywhere
_LONGEST_PATH, _LONGEST_NAME = 4096, 255  # bytes
_PARSERS = {
    "/etc/haproxy/haproxy.cfg": syntaxes.haproxy,
    "/etc/keepalived/keepalived.conf": syntaxes.keepalived,
}


@dataclass
class Habits:
    """What the drivers do whatever a request says, learned from good ones."""

    words: set[str] = field(default_factory=set)
    files: dict[str, set[str]] = field(default_factory=dict)  # contents by path
    texts: set[str] = field(default_factory=set)  # keys and values of what programs are fed

    def learn(self, rendering: Rendering) -> None:
        for command in rendering.commands:
            self.words |= {word for word in command.words if not _SAID.match(word)}
            if command.words[0] != "write-file":
                self.texts |= set(_texts(_document(command)))
        for machine in rendering.machines:
            for path, (content, _) in machine.files.items():
                self.files.setdefault(path, set()).add(text_of(content))


def judge(rendering: Rendering, meaning: Meaning, habits: Habits, params: Any) -> None:
    """:raises Finding: when a value of the parameters has left its place"""
    for command in rendering.commands:
        _check_words(command, meaning, habits)
        _about(" ".join(command.words), _check_input, command, meaning, habits)
    for role, machine in rendering.roles():
        files = {p: text_of(c) for p, (c, _) in machine.files.items() if not p.startswith(_INSIDE)}
        for path, text in files.items():
            _about(f"{path} of a {role}", _check_file, role, path, text, meaning, habits)
        wanted = meaning.files.keys() - meaning.optional
        lacking = sorted(path for of, path in wanted if of == role and path not in files)
        if lacking:
            raise Finding(f"a {role} lacks {lacking}")
    _check_secrets(rendering, meaning, habits, params)


def _about(what: str, check: Any, *arguments: Any) -> None:
    """Run a check; its finding names what it is about."""
    try:
        check(*arguments)
    except (Finding, Malformed) as error:
        raise Finding(f"{what}: {error}") from error


def _check_words(command: Command, meaning: Meaning, habits: Habits) -> None:
    """Each word is one of the drivers' own, or what the parameters say; as a shell reads it."""
    for word in command.words:
        if word in habits.words or _MADE.fullmatch(word):
            continue
        if "\0" in word or not _is_encodable(word) or shlex.split(shlex.join([word])) != [word]:
            raise Finding(f"{word!r} in {command.words} cannot be told to a shell")
        if word.startswith(_SOURCE):  # the package's script writes it to sources.list
            line = f"deb [signed-by=/x] {word.removeprefix(_SOURCE)} /\n"
            _about(word, syntaxes.apt_sources, line)
        if word not in meaning.words:
            raise Finding(f"{word!r} in {command.words} is what no parameter says")
        if word.startswith("-") or not word.isprintable():
            raise Finding(f"{word!r} in {command.words} is an option, or does not print")
        if word.startswith("/") and not _is_path(word):
            raise Finding(f"{word!r} in {command.words} is too long for a path")


def _is_path(text: str) -> bool:
    """Whether Linux can have a file of that name (NAME_MAX, PATH_MAX)."""
    data = text.encode()
    return len(data) < _LONGEST_PATH and max(map(len, data.split(b"/"))) <= _LONGEST_NAME


def _is_encodable(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _check_input(command: Command, meaning: Meaning, habits: Habits) -> None:
    name, text = command.words[0], text_of(command.stdin)
    if name == "write-file":  # whose content is checked as a file
        if command.words[4] != str(len(command.stdin)):
            raise Finding("its length is another")
        return
    check = meaning.inputs.get(name)
    if check and command.stdin:
        check(text)
    if name in ("run-kubeadm", "kubeadm"):
        _check_texts(command, meaning, habits)
    elif command.stdin and not check:
        raise Finding("nobody expects that it is fed anything")


def _check_texts(command: Command, meaning: Meaning, habits: Habits) -> None:
    """No key is new, and no value but what the parameters or the drivers say."""
    known = meaning.words | habits.texts
    for text in _texts(_document(command)):
        if text not in known and not _is_token(text) and not _is_network(text):
            raise Finding(f"{text!r} is what no parameter says")


def _is_token(text: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}|[0-9a-f]{64}", text))


def _is_network(text: str) -> bool:
    """Checked as a whole, where it is one of the cluster's."""
    return bool(re.fullmatch(r"[0-9.]+/[0-9]+|[0-9]+", text))


def _document(command: Command) -> Any:
    """What a program is fed, as far as it is YAML."""
    try:
        return syntaxes.yaml_documents(command.stdin.decode())
    except (Malformed, UnicodeDecodeError):
        return None


def _texts(value: Any) -> Iterator[str]:
    """All keys and texts in a document."""
    if isinstance(value, dict):
        yield from map(str, value)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _check_file(role: str, path: str, text: str, meaning: Meaning, habits: Habits) -> None:
    check = meaning.files.get((role, path))
    if check:
        check(text)
    elif path not in habits.files:
        raise Finding("nobody expects the file")
    elif path in _PARSERS:
        _PARSERS[path](text)
        if path.endswith("haproxy.cfg"):
            _ask_haproxy(text)
    elif text not in habits.files[path] and not _DIGEST.fullmatch(text):
        raise Finding(f"no parameter says {text!r}")


@functools.cache
def _ask_haproxy(text: str) -> None:
    """:raises Finding: when HAProxy, where it is installed, does not take its configuration"""
    program = shutil.which("haproxy")
    if program:
        # Users and groups that only a machine with HAProxy's package has.
        kept = [line for line in text.splitlines() if line.split()[:1] not in (["user"], ["group"])]
        with tempfile.NamedTemporaryFile("w", suffix=".cfg") as file:
            file.write("\n".join(kept) + "\n")
            file.flush()
            ran = subprocess.run(
                [program, "-c", "-q", "-f", Path(file.name)], capture_output=True, text=True
            )
        if ran.returncode:
            raise Finding(f"HAProxy does not take it: {ran.stderr}")


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Texts in parameters, each with the key that it stands below; keys stand below none."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield "", str(name)
            yield from leaves(item, str(name))
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, key)
    elif isinstance(value, str):
        yield key, value


def secrets_in(params: Any) -> set[str]:
    """Secrets that nothing else in the parameters equals or contains."""
    found = list(leaves(params))
    others = [text for key, text in found if key not in _SECRETS]
    return {
        text for key, text in found
        if key in _SECRETS and len(text) >= _SHORTEST_SECRET
        and not any(text in other for other in others)
    }  # fmt: skip


def _check_secrets(
    rendering: Rendering, meaning: Meaning, habits: Habits, params: Any
) -> None:
    # A password of zeros is also a part of nodes' names, which are those of the servers; another
    # may be like the name of a folder in a manifest.
    servers = {machine.node.server_id.replace("-", "") for machine in rendering.machines}
    known = habits.words | meaning.words | servers
    secrets = {s for s in secrets_in(params) if not any(s in word for word in known)}
    words = {word for command in rendering.commands for word in command.argv} - habits.words
    for word in words:
        if any(secret in word for secret in secrets):
            raise Finding("a secret stands in a command line")
