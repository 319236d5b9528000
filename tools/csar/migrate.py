"""Migrates a package for Tacker's sample of a Kubernetes driver to these drivers.

Mechanical changes are made; decisions of the author are listed as work to do. The package is
written to another folder. YAML is edited as text, so that comments and formatting are kept.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from yaml.nodes import ScalarNode

from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from tools.csar import (
    build,
    check_basehot,
    check_kubernetes,
    check_vnfd,
    contents,
    sol001,
    toscameta,
)
from tools.csar import package as model
from tools.csar.contents import Contents, InMemory
from tools.csar.errors import CsarError
from tools.csar.package import Package, mapping, requirements
from tools.csar.yaml_edit import Document

_OURS = build.PACKAGES / "kubernetes"
_SCRIPT = "Scripts/install_k8s_cluster.sh"
_USER_DATA = "UserData/k8s_cluster_user_data.py"
_IMAGES = "Files/images/"
_MASTER_CP = "masterNode_CP1"  # the name in the samples
_CREATED_BY = re.compile("^created-by:", re.IGNORECASE)
_VNFLCM = ("topology_template", "node_templates", "VNF", "interfaces", "Vnflcm")


@dataclass
class Migration:
    """A package during its migration: its files, the changes made, and the author's work to do."""

    files: Contents
    done: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    @property
    def package(self) -> Package:
        return Package(self.files)

    def take_ours(self, name: str) -> None:
        self.files[name] = _OURS / name

    def edit(self, name: str) -> Document:
        return Document(self.files[name].read_bytes().decode())

    def write(self, name: str, text: str) -> bool:
        """Write a text to a file of the package; returns whether the file has changed."""
        data = text.encode()
        is_new = name not in self.files or self.files[name].read_bytes() != data
        self.files[name] = InMemory(name, data)
        return is_new


def migrate(folder: Path, target: Path, image: str = "") -> Migration:
    """Write the package in ``folder`` to the folder ``target``, changed for these drivers.

    :param image: name of an image in the cloud, to replace the images in the package
    :raises CsarError: the target is not empty, or the package is not for a Kubernetes driver
    """
    if target.exists() and any(target.iterdir()):
        raise CsarError(f"{target}: is not empty; name another folder with -o")
    migration = Migration(contents.of_folder(folder))
    if not check_kubernetes.flavours(migration.package):
        raise CsarError(
            f"{folder}: no flavour's node VNF has an artifact {check_kubernetes.MODULE}, "
            "which is the driver's file"
        )
    for step in _STEPS:
        step(migration)
    if image:
        _image(migration, image)
    _say_what_is_left(migration)
    for name, source in migration.files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    return migration


def _supplied(migration: Migration) -> None:
    """Remove ETSI's types and the driver, since the build puts both into each CSAR."""
    types = [f"Definitions/{name}" for name in sol001.DIGESTS]
    modules = [
        str(mapping(artifact).get("file"))
        for flavour in check_kubernetes.flavours(migration.package)
        for artifact in mapping(flavour.nodes, "VNF", "artifacts").values()
    ]
    for name in sorted({*types, *modules} & set(migration.files)):
        del migration.files[name]
        migration.done.append(f"{name}: removed, `build` supplies it")


def _header(migration: Migration) -> None:
    """Remove the blocks, since the build writes them, and spell the header's keys as in SOL004."""
    source = migration.files.get(toscameta.NAME)
    if source is None:
        return
    lines = toscameta.header(source.read_bytes().decode()).splitlines()
    spelt = [_CREATED_BY.sub("Created-By:", line) for line in lines]
    if migration.write(toscameta.NAME, "\n".join(spelt) + "\n"):
        migration.done.append(f"{toscameta.NAME}: its header alone, `build` writes the blocks")


def _script(migration: Migration) -> None:
    if check_kubernetes.scripts(migration.package):
        return
    had = _SCRIPT in migration.files
    migration.take_ours(_SCRIPT)
    migration.done.append(
        f"{_SCRIPT}: the script of vnf_packages/kubernetes, whose head has the contract"
    )
    if had:
        migration.left.append(
            f"{_SCRIPT}: move what your own script did on one machine (packages, settings of the "
            "runtime) into this script; the driver makes the cluster"
        )


def _pod_network(migration: Migration) -> None:
    if DEFAULT_CNI_MANIFEST not in migration.files:
        migration.take_ours(DEFAULT_CNI_MANIFEST)
        migration.done.append(
            f"{DEFAULT_CNI_MANIFEST}: the pod network, which the script made before"
        )
        migration.left.append(
            "the pod network is flannel now: for another pod network, put its manifest into the "
            "package, and name the manifest in the request's cni_manifest_path"
        )


def _user_data(migration: Migration) -> None:
    source = migration.files.get(_USER_DATA)
    if source is None or b"def scale(" in source.read_bytes():
        return
    migration.take_ours(_USER_DATA)
    migration.done.append(
        f"{_USER_DATA}: the module of vnf_packages/kubernetes, which keeps the number of workers "
        "when Tacker updates the stack, and takes uploaded images by their ids"
    )


def _hooks(migration: Migration) -> None:
    """Add the driver's hooks that the VNFD does not name, since Tacker calls no others."""
    for flavour in check_kubernetes.flavours(migration.package):
        hooks = mapping(flavour.nodes, "VNF", "interfaces", "Vnflcm")
        missing = [hook for hook in _hooks_of_ours() if hook not in hooks]
        driver = check_kubernetes.driver_of(flavour)
        lines = "".join(f"{hook}:\n  implementation: {driver}\n" for hook in missing)
        _put(migration, flavour.file, _VNFLCM, lines, f"hooks {', '.join(missing)}")


def _hooks_of_ours() -> list[str]:
    """The hooks that the driver has, as this project's own package names them."""
    document = contents.parse(_OURS / "Definitions/kubernetes_df_simple.yaml")
    return [name for name, hook in mapping(document, *_VNFLCM).items() if mapping(hook)]


def _links(migration: Migration) -> None:
    """Add the key virtual_link, without which Tacker's parser refuses the VNFD in a scaling."""
    for flavour in migration.package.flavours:
        for name, node in flavour.nodes_of(model.VDU_CP).items():
            if "virtual_link" not in dict(requirements(node)):
                path = ("topology_template", "node_templates", name, "requirements")
                text = f"{name}'s requirement virtual_link, left open"
                _put(migration, flavour.file, path, "- virtual_link:\n", text)


def _optional_links(migration: Migration) -> None:
    """Make the links of node types optional, since Tacker removes links from the VNFD."""
    for file, definitions in migration.package.documents.items():
        for type_name, definition in check_vnfd.vnf_types(definitions):
            for place, name in check_vnfd.required_links(definition):
                path = ("node_types", type_name, "requirements", place, name)
                what = "occurrences of an optional link"
                _put(migration, file, path, f"{check_vnfd.OPTIONAL}\n", what)


def _sizes(migration: Migration) -> None:
    """Replace the sizes of groups by parameters, which Tacker and UserData set."""
    for flavour in check_kubernetes.flavours(migration.package):
        for top in check_basehot.top_templates(migration.package, flavour):
            for group, size in check_kubernetes.fixed_sizes(migration.package.documents[top]):
                name = f"{group}_desired_capacity"
                lines = f"{name}:\n  type: number\n  default: {size}\n"
                if _put(migration, top, ("parameters",), lines, f"parameter {name}"):
                    document = migration.edit(top)
                    place = ("resources", group, "properties", "desired_capacity")
                    node = document.at(*place)
                    assert node is not None
                    document.replace(node, f"{{ get_param: {name} }}")
                    migration.write(top, document.edited())


def _networks(migration: Migration) -> None:
    """Put virtual IPs into the masters' network, which the request names."""
    for flavour in check_kubernetes.flavours(migration.package):
        if _MASTER_CP not in flavour.nodes_of(model.VDU_CP):
            continue
        for top in check_basehot.top_templates(migration.package, flavour):
            document, ports = migration.edit(top), []
            wanted = f"{{ get_param: [ nfv, CP, {_MASTER_CP}, network ] }}"
            for name, port in mapping(migration.package.documents[top], "resources").items():
                network = document.at("resources", name, "properties", "network")
                is_port = mapping(port).get("type") == check_basehot.PORT
                if is_port and isinstance(network, ScalarNode):
                    document.replace(network, wanted)
                    ports.append(name)
            migration.write(top, document.edited())
            migration.done += [f"{top}: {name} is in the network of {_MASTER_CP}" for name in ports]


def _put(
    migration: Migration, file: str, path: tuple[str | int, ...], lines: str, what: str
) -> bool:
    """Put lines at a path, and note the change; or note that the author has to make the change."""
    if not lines:
        return False
    document = migration.edit(file)
    is_put = document.put_first(document.at(*path), lines)
    if is_put:
        migration.write(file, document.edited())
        migration.done.append(f"{file}: {what}")
    else:
        migration.left.append(f"{file}: add at {'.'.join(map(str, path))} the {what}")
    return is_put


def _image(migration: Migration, image: str) -> None:
    """Name an image of the cloud, and remove images that Tacker would upload."""
    for flavour in migration.package.flavours:
        for name, node in flavour.nodes_of(model.VDU).items():
            if not mapping(node, "properties", "sw_image_data"):
                continue
            document = migration.edit(flavour.file)
            place = ("topology_template", "node_templates", name)
            named = document.at(*place, "properties", "sw_image_data", "name")
            if named is not None:
                document.replace(named, image)
            images = check_vnfd.images_of(node)
            if images:
                whole = set(images) == set(mapping(node, "artifacts"))
                parent = document.at(*place) if whole else document.at(*place, "artifacts")
                for key in ["artifacts"] if whole else images:
                    document.remove(parent, key)
            migration.write(flavour.file, document.edited())
            migration.done.append(f"{flavour.file}: {name} runs the cloud's image {image}")
    for name in [name for name in migration.files if name.startswith(_IMAGES)]:
        del migration.files[name]
        migration.done.append(f"{name}: removed, nothing uploads it any more")


def _say_what_is_left(migration: Migration) -> None:
    package = migration.package
    for flavour in package.flavours:
        nodes = flavour.nodes_of(model.VDU).values()
        if any(check_vnfd.images_of(node) for node in nodes):
            migration.left.append(
                f"{flavour.file}: Tacker uploads the images to Glance for each VNF; with `--image "
                "NAME` the package names an image of the cloud"
            )


_STEPS = (
    _supplied, _header, _script, _pod_network, _user_data, _hooks, _optional_links, _links,
    _sizes, _networks,
)  # fmt: skip
