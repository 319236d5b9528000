"""Strategies: requests that are good but for a few places."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from hypothesis import strategies as st

from mgmt_drivers.cluster.series import SUPPORTED
from tools.fuzz import keys
from tools.fuzz.machines import STORIES
from tools.fuzz.packages import ADDED, image_archive
from tools.fuzz.seeds import FLOATING_IP, Seed

_MANIFESTS = "Files/kubernetes/nfs-pv"
_ARCHIVE = "Files/images/private_registry.tar"

# What is special to shells, systemd, apt, TOML, YAML, JSON, HAProxy, regular expressions and paths.
PIECES = (
    "\n", "\r", "\0", "\t", " ", "\x1b[2J", "\x7f", "\x85", "\u2028", "\ufeff", "\ud800", "\udfff",
    "'", '"', "\\", "`id`", "$(id)", "${IFS}", "$HOME", "%", "%n", "%\nX=y", "%eth0", "%\u2028",
    ";", "; reboot", "&& reboot", "| sh", "#", " # ", "//", "/*", "{", "}", "{{", "]", "[host]",
    "=", ":", ": ", "- ", "---\n", "...", "&a", "*a", "!!python/name:os.system", "|\n ", ">", "<<:",
    ",", '",\n"x":"', "\nserver evil 10.0.0.9:1", "\n[host.'x']", "@POD_CIDR@", "@", "~", "*",
    "-", "--config=/x", "-oProxyCommand=x", "..", "../../etc/passwd", "/", "\\n", "\\1", "\\g<0>",
    "(rw,no_root_squash)", "'''", '"""', "é", "１٢", "İ", "ﬀ", "😀", "\u202e", "\u200d", "null",
    "fe80::1%eth0", "::ffff:1.2.3.4", "0x7f.1", "1e999", "-1", "007", "NaN", "EOF", "\\$(id)",
)  # fmt: skip
_LONG = ("a" * 64, "a" * 256, "a" * 5000, "9" * 5000, "../" * 2000, "a." * 130, "a" * 20000)
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, float("nan"), float("inf"), 2**31, 10**4000, "", " ", [], {},
    [[]], [{}], {"": ""}, ["x"], "0", "1",
)  # fmt: skip
_NAMES = ("registry.example.com", "a", "A-b.c", "10.10.0.9", "xn--bcher-kva.example", "r1.lab.test",
          "2001:db8::5", "localhost", "ip6-localhost", "0")  # fmt: skip
_HOST_KEYS = (keys.HOST_KEY, f"{keys.HOST_KEY} me@host", "ssh-ed25519 AAAA", "ssh-rsa", "SHA256:",
              f"SHA256:{'0' * 43}", f"SHA256:{'0' * 42}1", "")  # fmt: skip
_VOLUMES = ("/volume", "/volume/nfs", "/srv/volume", "/mnt/a_b-c.d", "//volume//x/", "/export/1")
_PATH_PARTS = ("nfs", "pv1", "a b", "..", ".", "-x", "$(id)", "é", "\0", "\n", "\ud800", "'", "")


@dataclass(frozen=True)
class Input:
    """A request, contents of the package's files that differ, and what is done after it."""

    seed: Seed
    params: Any
    files: Mapping[str, bytes] = field(default_factory=dict)
    story: str = ""

    def __str__(self) -> str:
        shown = {
            "request": self.seed.name,
            self.seed.parameter: self.params,
            **({"files": {n: repr(c) for n, c in self.files.items()}} if self.files else {}),
            **({"then": self.story} if self.story else {}),
        }
        return json.dumps(shown, indent=2)


def inputs(seeds: Sequence[Seed]) -> st.SearchStrategy[Input]:
    """Any of the seeds, with none to a few changes; mostly of those with few machines."""
    small = [seed for seed in seeds if seed.flavour == "simple"]
    return _inputs(st.sampled_from([*small * 3, *seeds]))


_INDEX = st.integers(0, 2**16)  # of places, whose number differs
# Most of the time goes into the plans: only some requests go beyond the first.
_STORIES = st.sampled_from(("",) * 20 + STORIES[1:])
_ONE_IN_SIX = st.sampled_from((False,) * 5 + (True,))
_CHANGES = st.sampled_from((1, 1, 1, 1, 2, 2, 4, 0))


@st.composite
def _inputs(draw: st.DrawFn, seeds: st.SearchStrategy[Seed]) -> Input:
    seed = draw(seeds)
    params: Any = copy.deepcopy(dict(seed.params))
    for _ in range(draw(_CHANGES)):
        params = _changed(draw, params)
    files = _files(draw, seed) if draw(_ONE_IN_SIX) else {}
    return Input(seed, params, files, draw(_STORIES))


def _changed(draw: st.DrawFn, params: Any) -> Any:
    """The parameters with one place changed."""
    places = list(_places(params))
    if not places:
        return params
    action = draw(_ACTIONS)
    if action == "likely":  # in most places little else than what is there is accepted
        places = [place for place in places if place[1] in _FREE] or places
    holder, key = places[draw(_INDEX) % len(places)]
    before = holder[key]
    if action == "remove":
        del holder[key]
    elif action == "extra":
        _add(holder, draw(_TEXTS), copy.deepcopy(before))
    elif action in ("likely", "other"):
        holder[key] = _likely(draw, str(key), before)
    elif action == "spoil" and isinstance(before, str):
        holder[key] = _spoilt(draw, before)
    elif action == "nest":
        holder[key] = ([before], {str(key): before}, _deep(before))[draw(_INDEX) % 3]
    else:
        holder[key] = draw(_VALUES)
    return params


# The first is what a minimal input has.
_ACTIONS = st.sampled_from(
    ("likely",) * 14 + ("spoil",) * 4 + ("other", "replace", "remove", "extra", "nest")
)
_TEXTS = st.sampled_from(PIECES) | st.sampled_from(_LONG) | st.text(max_size=8)
_VALUES = st.sampled_from(_ODD).map(copy.deepcopy) | _TEXTS  # they may be changed in turn


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each mapping or list with each of its keys, all the way down."""
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    else:
        return
    for key, item in pairs:
        yield value, key
        yield from _places(item)


def _add(holder: Any, key: str, value: Any) -> None:
    if isinstance(holder, list):
        holder.append(value)
    else:
        holder[key] = value


def _deep(value: Any) -> Any:
    for _ in range(200):
        value = [value]
    return value


def _spoilt(draw: st.DrawFn, text: str) -> str:
    """A good text with something in it."""
    at = draw(_INDEX) % (len(text) + 1)
    return text[:at] + draw(_TEXTS) + text[at:]


_BYTE = st.integers(0, 255)
_NETWORKS = st.builds(
    lambda a, b, c, d, prefix: f"{a}.{b}.{c}.{d}/{prefix}",
    st.sampled_from((10, 172, 172, 192, 100, 198, 11, 127, 0, 224)),
    st.sampled_from((0, 96, 168, 199)) | _BYTE, _BYTE, st.just(0) | _BYTE,
    st.sampled_from((12, 16, 16, 20, 24, 24, 28, 32, 3, 7, 0)),
)  # fmt: skip
_PORTS = st.sampled_from(("", ":5000", ":443", ":80", ":65535", ":0", ":65536", ":", ":080"))
_HOSTS = st.sampled_from(_NAMES)
_SERVERS = st.builds("{}{}".format, _HOSTS, _PORTS)
# All that may stand in a URL, also where only a shell or apt would mind.
_URL_PARTS = st.text(st.sampled_from("azAZ09-._~:/?#[]@!$&()*+,;=%"), max_size=12)
_URLS = st.builds(
    "{}://{}{}{}/{}".format,
    st.sampled_from(("http", "https", "HTTP", "file", "ftp")),
    st.sampled_from(("", "", "me:Pl4nted-9@", "$(id):`id`@", "a@b@")),
    _HOSTS | st.sampled_from(("[::1]", "[v1.example.com]")), _PORTS,
    _URL_PARTS | st.sampled_from(("%zz", "%7Ex")),
)  # fmt: skip
_DIRECT = st.lists(
    st.sampled_from((".lab", "*.x.org", "*", "a_b", "fe80::1", "[::1]:80", "-x", "a;b", ".svc",
                     "]::1[:80", "1.2.3.400", "::/1", "fc00::/7", "[10.0.0.1]:80")) | _SERVERS
    | _NETWORKS,
    max_size=4,
).map(",".join)
# Whatever prints may be part of a password or of a user's name.
_WORDS = st.text(
    st.sampled_from("aZ0'\"\\$`;&|<>(){}[]#!*?~=%:,- é漢😀")
    | st.characters(codec="utf-8", exclude_categories=("C", "Z")),
    min_size=1, max_size=24,
)  # fmt: skip
_VERSIONS = st.sampled_from((*SUPPORTED, "v1.33.2", "1.37.1", "1.19", "1.38", "1.33.0000", "1.33."))
_FOLDERS = st.sampled_from(_VOLUMES) | st.builds(
    "{}/{}".format, st.sampled_from(_VOLUMES), st.sampled_from(_PATH_PARTS)
)
_CPS = st.sampled_from((
    "masterNode_CP1", "workerNode_CP2", "vip_CP", "storage_server_CP", FLOATING_IP, "CP1",
))  # fmt: skip
_NAMED = st.sampled_from((*ADDED, "Scripts/install_k8s_cluster.sh", f"{_MANIFESTS}1.yaml", "Files",
                          "/etc/passwd", "Files/../Files/tls.crt"))
_OF_KEYS: Mapping[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("pod_cidr", "cluster_cidr", "k8s_node_cidr", "export_to"), _NETWORKS),
    **dict.fromkeys(("http_proxy", "https_proxy", "url", "image_url"), _URLS),
    **dict.fromkeys(("username", "ssh_username", "password", "ssh_password", "vim_name"), _WORDS),
    **dict.fromkeys(("mount_to", "export_dir"), _FOLDERS),
    **dict.fromkeys(("ssh_cp_name", "nic_cp_name", "nfs_server_cp", "cluster_cp_name"), _CPS),
    "no_proxy": _DIRECT,
    "server": _SERVERS,
    "connection_type": st.sampled_from(("0", "1", 0, 1, "2", True)),
    "hosts_string": st.builds(
        "{}{}{}".format,
        st.sampled_from(("10.10.0.20", "2001:DB8::1", "::ffff:10.0.0.1", "127.0.0.1", "fe80::1%x",
                         "0.0.0.0", "::", "255.255.255.255", "ff02::1", "::ffff:127.0.0.1")),  # noqa: S104 - text
        st.sampled_from((" ", "  ", "\t", "\u00a0")),
        _HOSTS | st.sampled_from(("ip6-localhost", "localhost4", "LOCALHOST")),
    ),
    "image_repository": st.builds(
        "{}{}{}".format, st.sampled_from(("", "http://", "https://")), _SERVERS,
        st.sampled_from(("", "/", "/k8s", "/a__b/c-d.e", "/K8s", "/a//b", "/-x")),
    ),
    "kubernetes_version": _VERSIONS,
    "container_runtime": st.sampled_from(("containerd", "docker", "cri-o")),
    "host_key": st.lists(st.sampled_from(_HOST_KEYS), max_size=3),
    "root_squash": st.sampled_from((True, False, "true", 1, None)),
    "workers_at_once": st.integers(0, 101) | st.sampled_from((True, 1.0, "1")),
    "port_no": st.integers(-1, 70000) | st.integers(1, 65535).map(str),
    "image_sha256": st.text(st.sampled_from("0123456789abcdefABCDEF"), min_size=64, max_size=64),
}  # fmt: skip
# Keys whose values nothing else has to fit.
_FREE = frozenset(_OF_KEYS) - {"ssh_cp_name", "nic_cp_name", "nfs_server_cp", "cluster_cp_name"}


def _likely(draw: st.DrawFn, key: str, before: Any) -> Any:
    """What may well be accepted below a key."""
    if key.endswith("_path"):
        return draw(_NAMED)
    if key in _OF_KEYS:
        return draw(_OF_KEYS[key])
    return _spoilt(draw, before) if isinstance(before, str) else draw(_VALUES)


def _files(draw: st.DrawFn, seed: Seed) -> Mapping[str, bytes]:
    """Another content of one of the files that the request names."""
    names = sorted(_named_files(seed.params))
    if not names:
        return {}
    name = names[draw(_INDEX) % len(names)]
    if name.startswith(_MANIFESTS):
        return {name: _manifest(draw, name)}
    if name == _ARCHIVE and draw(st.booleans()):
        return {name: image_archive(draw(_REPO_TAGS))}
    return {name: _cut(draw, ADDED[name])}


def _named_files(params: Any) -> set[str]:
    found = {
        holder[key] for holder, key in _places(params)
        if (str(key).endswith("_path") or key == "restore_from") and isinstance(holder[key], str)
    }  # fmt: skip
    return {name for name in found if name in ADDED or name.startswith(_MANIFESTS)}


_REPO_TAGS = st.lists(
    st.just("registry:2") | _VALUES
    | st.builds("{}{}".format, st.sampled_from(("registry:2", "r:1", "a/b@c", "")), _TEXTS),
    max_size=2,
)  # fmt: skip
_BYTES = st.binary(max_size=4) | _TEXTS.map(lambda t: t.encode(errors="surrogatepass"))
_CUT = st.sampled_from((0, 0, 1, 40, 10**9))


def _cut(draw: st.DrawFn, content: bytes) -> bytes:
    """Bytes with others in some place."""
    at = draw(_INDEX) % (len(content) + 1)
    return content[:at] + draw(_BYTES) + content[at + draw(_CUT) :]


_PARTS = st.sampled_from(_PATH_PARTS) | _TEXTS


def _manifest(draw: st.DrawFn, name: str) -> bytes:
    """A PersistentVolume with some places changed, as YAML of another hand."""
    volume: Any = _volume(name)
    if draw(st.booleans()):
        volume["spec"]["nfs"]["path"] += "/" + draw(_PARTS)
    else:
        volume = _changed(draw, volume)
    text: str = yaml.safe_dump(volume, default_flow_style=draw(st.booleans()))
    content = text.encode(errors="surrogatepass")
    return _cut(draw, content) if draw(_ONE_IN_SIX) else content


def _volume(name: str) -> dict[str, Any]:
    number = name.removeprefix(_MANIFESTS).partition(".")[0]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"nfs-pv{number}", "labels": {"tier": "gold"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "nfs": {"server": "0.0.0.0", "path": f"/volume/nfs/pv{number}"},  # noqa: S104
        },
    }
