"""Makes a package for these drivers out of one for Tacker's sample of a Kubernetes driver.

That is the mechanical part. What only the author can decide is said, not done. The package is
written to another folder; YAML is edited as text, so that it stays the author's.
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
_MASTER_CP = "masterNode_CP1"  # as the samples name it
_CREATED_BY = re.compile("^created-by:", re.IGNORECASE)
_VNFLCM = ("topology_template", "node_templates", "VNF", "interfaces", "Vnflcm")


@dataclass
class Migration:
    """A package on its way: its files, what was done, and what is left to its author."""

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
        """Put a text into the package; returns whether it differs from what was there."""
        data = text.encode()
        is_new = name not in self.files or self.files[name].read_bytes() != data
        self.files[name] = InMemory(name, data)
        return is_new


def migrate(folder: Path, target: Path, image: str = "") -> Migration:
    """Write the package in ``folder`` to the folder ``target``, changed for these drivers.

    :param image: name of an image that the cloud has, in the place of those that the package
        brings
    :raises CsarError: the target holds something, or the package is none for a Kubernetes driver
    """
    if target.exists() and any(target.iterdir()):
        raise CsarError(f"{target}: is not empty; name another folder with -o")
    found = Migration(contents.of_folder(folder))
    if not check_kubernetes.flavours(found.package):
        raise CsarError(
            f"{folder}: no flavour's node VNF has an artifact {check_kubernetes.MODULE}, "
            "which is the driver's file"
        )
    for step in _STEPS:
        step(found)
    if image:
        _image(found, image)
    _say_what_is_left(found)
    for name, source in found.files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes())
    return found


def _supplied(found: Migration) -> None:
    """The build puts ETSI's types and the installed driver into each CSAR."""
    types = [f"Definitions/{name}" for name in sol001.DIGESTS]
    modules = [
        str(mapping(artifact).get("file"))
        for flavour in check_kubernetes.flavours(found.package)
        for artifact in mapping(flavour.nodes, "VNF", "artifacts").values()
    ]
    for name in sorted({*types, *modules} & set(found.files)):
        del found.files[name]
        found.done.append(f"{name}: removed, `build` supplies it")


def _header(found: Migration) -> None:
    """The build writes the blocks; keys of the header are spelt as SOL004 does."""
    source = found.files.get(toscameta.NAME)
    if source is None:
        return
    lines = toscameta.header(source.read_bytes().decode()).splitlines()
    spelt = [_CREATED_BY.sub("Created-By:", line) for line in lines]
    if found.write(toscameta.NAME, "\n".join(spelt) + "\n"):
        found.done.append(f"{toscameta.NAME}: its header alone, `build` writes the blocks")


def _script(found: Migration) -> None:
    if check_kubernetes.scripts(found.package):
        return
    had = _SCRIPT in found.files
    found.take_ours(_SCRIPT)
    found.done.append(f"{_SCRIPT}: that of vnf_packages/kubernetes, whose head has the contract")
    if had:
        found.left.append(
            f"{_SCRIPT}: what your own did on one machine (packages, settings of the runtime) goes "
            "into this one; what it did to make the cluster is the driver's"
        )


def _pod_network(found: Migration) -> None:
    if DEFAULT_CNI_MANIFEST not in found.files:
        found.take_ours(DEFAULT_CNI_MANIFEST)
        found.done.append(f"{DEFAULT_CNI_MANIFEST}: the pod network, which the script made before")
        found.left.append(
            "the pod network is flannel now: for another, put its manifest into the package, and "
            "name it in the request's cni_manifest_path"
        )


def _user_data(found: Migration) -> None:
    if _USER_DATA not in found.files or b"def scale(" in found.files[_USER_DATA].read_bytes():
        return
    found.take_ours(_USER_DATA)
    found.done.append(
        f"{_USER_DATA}: that of vnf_packages/kubernetes, which keeps the number of workers when "
        "Tacker updates the stack, and takes uploaded images by their ids"
    )


def _hooks(found: Migration) -> None:
    """Hooks that the driver has and the VNFD does not name are not called."""
    for flavour in check_kubernetes.flavours(found.package):
        hooks = mapping(flavour.nodes, "VNF", "interfaces", "Vnflcm")
        missing = [hook for hook in _hooks_of_ours() if hook not in hooks]
        driver = check_kubernetes.driver_of(flavour)
        lines = "".join(f"{hook}:\n  implementation: {driver}\n" for hook in missing)
        _put(found, flavour.file, _VNFLCM, lines, f"hooks {', '.join(missing)}")


def _hooks_of_ours() -> list[str]:
    """The hooks that the driver has, as this project's own package names them."""
    document = contents.parse(_OURS / "Definitions/kubernetes_df_simple.yaml")
    return [name for name, hook in mapping(document, *_VNFLCM).items() if mapping(hook)]


def _links(found: Migration) -> None:
    """Without the key Tacker's parser refuses the VNFD when the VNF is scaled."""
    for flavour in found.package.flavours:
        for name, node in flavour.nodes_of(model.VDU_CP).items():
            if "virtual_link" not in dict(requirements(node)):
                path = ("topology_template", "node_templates", name, "requirements")
                text = f"{name}'s requirement virtual_link, left open"
                _put(found, flavour.file, path, "- virtual_link:\n", text)


def _sizes(found: Migration) -> None:
    """Sizes of groups become parameters, which Tacker and UserData set."""
    for flavour in check_kubernetes.flavours(found.package):
        for top in check_basehot.top_templates(found.package, flavour):
            for group, size in check_kubernetes.fixed_sizes(found.package.documents[top]):
                name = f"{group}_desired_capacity"
                lines = f"{name}:\n  type: number\n  default: {size}\n"
                if _put(found, top, ("parameters",), lines, f"parameter {name}"):
                    document = found.edit(top)
                    place = ("resources", group, "properties", "desired_capacity")
                    node = document.at(*place)
                    assert node is not None
                    document.replace(node, f"{{ get_param: {name} }}")
                    found.write(top, document.edited())


def _networks(found: Migration) -> None:
    """A virtual IP lies in the masters' network, which the request names."""
    for flavour in check_kubernetes.flavours(found.package):
        if _MASTER_CP not in flavour.nodes_of(model.VDU_CP):
            continue
        for top in check_basehot.top_templates(found.package, flavour):
            document, ports = found.edit(top), []
            wanted = f"{{ get_param: [ nfv, CP, {_MASTER_CP}, network ] }}"
            for name, port in mapping(found.package.documents[top], "resources").items():
                network = document.at("resources", name, "properties", "network")
                is_port = mapping(port).get("type") == check_basehot.PORT
                if is_port and isinstance(network, ScalarNode):
                    document.replace(network, wanted)
                    ports.append(name)
            found.write(top, document.edited())
            found.done += [f"{top}: {name} is in the network of {_MASTER_CP}" for name in ports]


def _put(
    found: Migration, file: str, path: tuple[str, ...], lines: str, what: str
) -> bool:
    """Put lines where a path leads, and say so; or that it has to be done by hand."""
    if not lines:
        return False
    document = found.edit(file)
    is_put = document.put_first(document.at(*path), lines)
    if is_put:
        found.write(file, document.edited())
        found.done.append(f"{file}: {what}")
    else:
        found.left.append(f"{file}: add at {'.'.join(path)} the {what}")
    return is_put


def _image(found: Migration, image: str) -> None:
    """Name an image of the cloud, and upload none."""
    for flavour in found.package.flavours:
        for name, node in flavour.nodes_of(model.VDU).items():
            if not mapping(node, "properties", "sw_image_data"):
                continue
            document = found.edit(flavour.file)
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
            found.write(flavour.file, document.edited())
            found.done.append(f"{flavour.file}: {name} runs the cloud's image {image}")
    for name in [name for name in found.files if name.startswith(_IMAGES)]:
        del found.files[name]
        found.done.append(f"{name}: removed, nothing uploads it any more")


def _say_what_is_left(found: Migration) -> None:
    package = found.package
    for flavour in package.flavours:
        nodes = flavour.nodes_of(model.VDU).values()
        if any(check_vnfd.images_of(node) for node in nodes):
            found.left.append(
                f"{flavour.file}: Tacker uploads the images to Glance for each VNF; with `--image "
                "NAME` the package names one that the cloud has"
            )


_STEPS = (
    _supplied, _header, _script, _pod_network, _user_data, _hooks, _links, _sizes, _networks,
)  # fmt: skip
