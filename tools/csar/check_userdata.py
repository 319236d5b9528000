"""Checks of the UserData modules, which are not run: they import Tacker, which may be missing."""

import ast
from collections.abc import Iterator
from contextlib import suppress

from tools.csar import contents
from tools.csar.package import Fault, Package

FOLDER = "UserData/"
_ARGUMENTS = ["base_hot_dict", "vnfd_dict", "inst_req_info", "grant_info"]
_ARGUMENTS_V2 = ["req", "inst", "grant_req", "grant", "tmp_csar_dir"]
_FINAL_DICT = "create_final_param_dict"
_NETWORK_DICT = "create_network_dict"
_GRANTED = b"create_vdu_image_dict"
_FINAL_KEYS = {"flavor", "image", "network"}
_V2 = "tacker.sol_refactored."
_STANDARD_KEYS = {"computeFlavourId", "vcImageId", "locationConstraints", "network"}
ADDRESSES = "fixed_ips"


def classes(package: Package) -> Iterator[Fault]:
    """Check that each UserData module has a class that Tacker can call."""
    for name in _modules(package):
        try:
            tree = _parse(package, name)
        except ValueError as error:
            yield Fault(name, "", f"not valid Python ({error})")
            continue
        methods = list(_instantiate_methods(tree))
        is_standard = _is_standard(tree)
        if not methods and not is_standard:
            yield Fault(name, "", "no class with a method instantiate")
        expected = _ARGUMENTS_V2 if is_standard else _ARGUMENTS
        for class_name, method in methods:
            yield from _signature(name, class_name, method, expected)


def provided_keys(package: Package) -> set[str]:
    """Return possible keys of a VDU's or CP's parameters.

    Possible keys are all strings in a UserData module, and the keys that functions of Tacker or the
    StandardUserData of its v2 API add.
    """
    keys: set[str] = set()
    for tree in _trees(package):
        nodes = list(ast.walk(tree))
        if _is_standard(tree):
            keys |= _STANDARD_KEYS
        keys.update(
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        keys |= _FINAL_KEYS if _FINAL_DICT in used else set()
        keys |= {ADDRESSES} if _NETWORK_DICT in used else set()
    return keys


def fills_addresses_one_by_one(package: Package) -> bool:
    """Say whether fixed_ips may be taken by number: [nfv, CP, name, fixed_ips, 0, ip_address].

    StandardUserData fills in these alone, and ends in an error where a template takes the list.
    """
    if ADDRESSES in provided_keys(package):
        return True
    return any(_is_standard(tree) for tree in _trees(package))


def _is_standard(tree: ast.Module) -> bool:
    """Whether a module imports the class of Tacker's v2 API, to pass it on or to extend it."""
    imported = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    return any(module.startswith(_V2) for module in imported)


def takes_images_by_id(package: Package) -> bool:
    """Say whether a module seems to take images from the grant."""
    sources = [contents.read(package.contents[name]) for name in _modules(package)]
    return any(_GRANTED in source for source in sources)


def _modules(package: Package) -> list[str]:
    """The modules that requests may name, without __init__.py."""
    names = [name for name in package.contents if name.startswith(FOLDER)]
    return [name for name in names if name.endswith(".py") and not name.endswith("/__init__.py")]


def _trees(package: Package) -> Iterator[ast.Module]:
    """The modules that can be parsed."""
    for name in _modules(package):
        with suppress(ValueError):
            yield _parse(package, name)


def _parse(package: Package, name: str) -> ast.Module:
    """:raises ValueError: the module is not Python that can be parsed"""
    try:
        return ast.parse(contents.read(package.contents[name]), filename=name)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error) or "nested too deeply") from error


def _instantiate_methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for class_ in tree.body:
        if isinstance(class_, ast.ClassDef):
            for method in class_.body:
                if isinstance(method, ast.FunctionDef) and method.name == "instantiate":
                    yield class_.name, method


def _signature(
    file: str, class_name: str, method: ast.FunctionDef, expected: list[str]
) -> Iterator[Fault]:
    place = f"{class_name}.instantiate"
    decorators = [node.id for node in method.decorator_list if isinstance(node, ast.Name)]
    if "staticmethod" not in decorators:
        yield Fault(file, place, "is not a staticmethod")
    arguments = [argument.arg for argument in method.args.args]
    if arguments != expected:
        yield Fault(file, place, f"takes ({', '.join(arguments)}), not ({', '.join(expected)})")
