"""What a request for a private registry means."""

import hashlib
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.fuzz import syntaxes
from tools.fuzz.machines import REGISTRY_ROLE
from tools.fuzz.meaning import Finding, Meaning, ProxyMeaning, same, text_of

_FILES = {
    "tls_certificate_path": "tls.crt",
    "tls_key_path": "tls.key",
    "htpasswd_path": "htpasswd",
}
_CONFIG = "/etc/private_registry"


def of_request(params: Mapping[str, Any], package: Path) -> Meaning:
    """:param package: the folder of the VNF package, as it was when the request was read"""
    given = {key: value for key, value in params.items() if value is not None}
    meaning = Meaning()
    port = str(int(given.get("port_no", 5000)))  # it may have zeros in front
    meaning.words |= {f"sport = :{port}", port, f"{port}:5000"}
    for key, name in _FILES.items():
        if key in given:
            content = text_of((package / given[key]).read_bytes())
            check = same(syntaxes.as_it_is, content)
            meaning.add_file([REGISTRY_ROLE], f"{_CONFIG}/{name}", check)
    proxy = ProxyMeaning(given.get("proxy") or {}, ["docker"])
    if proxy.urls:
        proxy.add_to(meaning, [REGISTRY_ROLE])
    if "image_path" in given:
        _add_archive(meaning, package / given["image_path"])
    if "image_url" in given:
        _add_remote(meaning, given, proxy)
    return meaning


def _add_archive(meaning: Meaning, archive: Path) -> None:
    content = archive.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    meaning.words |= {f"private-registry:{digest[:12]}", *_tags(archive)}
    meaning.inputs["docker"] = same(syntaxes.as_it_is, text_of(content))


def _tags(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        manifest = archive.extractfile("manifest.json")
        assert manifest
        images = json.loads(manifest.read())
    return [tag for image in images for tag in image["RepoTags"]]


def _add_remote(meaning: Meaning, given: Mapping[str, Any], proxy: ProxyMeaning) -> None:
    url, sha256 = given["image_url"], given.get("image_sha256", "").lower()
    known = sha256 or hashlib.sha256(url.encode()).hexdigest()
    meaning.words.add(f"private-registry:{known[:12]}")
    wanted = {"url": url, **({"sha256": sha256} if sha256 else {})}

    def check(text: str) -> None:
        found = syntaxes.json_document(text)
        way = found.pop("proxy", None)
        if found != wanted or way not in (None, *dict(proxy.urls).values()):
            raise Finding(f"the machine is told {found}, where the parameters say {wanted}")

    meaning.inputs["python3"] = check
