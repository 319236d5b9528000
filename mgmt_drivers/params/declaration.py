"""Declarations of parameters: each is a field of the dataclass that the drivers use.

    @dataclass(frozen=True)
    class Backup:
        keep: int = param("keep", Count(), default=12, meaning="how many backups are kept")

The reader, the guide's reference and the JSON schema are made from the declaration. Rules between
several parameters are a function beside the dataclass, given to :class:`ObjectOf`. Fields that are
not declared as parameters are not read.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mgmt_drivers.params.kinds import Kind, ListOf, is_object
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors

T = TypeVar("T")

INSTANTIATION, MODIFICATION = "instantiation", "modification"
_REFERENCE = re.compile(r" \(:[a-z]+:`[^`]*`\)")  # a link within the guide


class Optional:
    """A parameter that may be left out."""

    words = ""
    takes_null = False  # in the JSON schema; the reader takes null for any parameter left out

    def lack(self, holder: Reader) -> str:
        """The error if the parameter is left out; empty if it may be left out."""
        return ""

    def schema(self, name: str) -> dict[str, Any]:
        """A rule in JSON Schema for the object that holds the parameter."""
        return {}


class Always(Optional):
    words = "required"

    def lack(self, holder: Reader) -> str:
        return "missing"


class Unless(Optional):
    """Required unless one of other parameters of the object is given and is not false."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys
        self.words = f"required unless {' or '.join(f'``{key}``' for key in keys)} is given"

    def lack(self, holder: Reader) -> str:
        is_given = any(holder.at(key).value not in (None, False) for key in self._keys)
        return "" if is_given else f"missing, or {' or '.join(self._keys)} instead"

    def schema(self, name: str) -> dict[str, Any]:
        return {"anyOf": [{"required": [key]} for key in (name, *self._keys)]}


class Beside(Optional):
    """Required if another parameter of the object is given."""

    def __init__(self, key: str) -> None:
        self.key, self.words = key, f"required if ``{key}`` is given"

    def lack(self, holder: Reader) -> str:
        return f"missing beside {self.key}" if holder.has(self.key) else ""

    def schema(self, name: str) -> dict[str, Any]:
        return {"dependentRequired": {self.key: [name]}}


class When(Optional):
    """Required under a condition in words; a function beside the dataclass checks the condition."""

    def __init__(self, condition: str) -> None:
        self.words = f"required {condition}"


class Kept(Optional):
    """A parameter of a patch: left out, the value stays; null brings the default back."""

    words, takes_null = "or ``null``", True


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter.

    ``default`` is written as in a request; ``left_out`` describes the behaviour without the
    parameter, if there is no default. ``changed_by`` is the operation that can change the value of
    a cluster: a new instantiation, or a modification, which can also add and remove an object. If
    left out, it is that of the object that holds the parameter, or a new instantiation.
    """

    name: str
    kind: Kind[Any]
    meaning: str
    example: Any
    required: Optional
    default: Any
    left_out: str
    changed_by: str


def param(
    name: str,
    kind: Kind[Any],
    *,
    meaning: str,
    example: Any = None,
    required: Optional | None = None,
    default: Any = None,
    left_out: str = "",
    changed_by: str = "",
    value: Any = dataclasses.MISSING,
) -> Any:
    """A field that is a parameter.

    :param value: default of the field for code that makes the dataclass itself, if not the
        parameter's default
    """
    declared = Parameter(
        name, kind, meaning, example, required or Optional(), default, left_out, changed_by
    )
    if value is dataclasses.MISSING and not isinstance(declared.required, Always):
        value = kind.absent if default is None else _parsed(kind, default)
    return field(default=value, metadata={"parameter": declared})


def inline(cls: type[Any], is_optional: bool = False, **options: Any) -> Any:
    """A field that holds a group of parameters of the same object.

    :param is_optional: the field is None if no parameter of the group is given
    """
    if is_optional:
        options["default"] = None
    return field(metadata={"inline": cls, "is_optional": is_optional}, **options)


def parameters(cls: type[Any]) -> Sequence[Parameter]:
    listed: list[Parameter] = []
    for declared in dataclasses.fields(cls):
        if "parameter" in declared.metadata:
            listed.append(declared.metadata["parameter"])
        elif "inline" in declared.metadata:
            listed += parameters(declared.metadata["inline"])
    return listed


def class_of(kind: Kind[Any]) -> type[Any] | None:
    """The class of an object, or of the objects of a list; None for anything else."""
    item = kind.kind if isinstance(kind, ListOf) else kind
    return item.cls if isinstance(item, ObjectOf) else None


def all_parameters(path: str, cls: type[Any]) -> Iterator[tuple[str, Parameter]]:
    """The parameters of an object and of the objects in it, each with its path."""
    for parameter in parameters(cls):
        below = f"{path}.{parameter.name}"
        yield below, parameter
        if inner := class_of(parameter.kind):
            yield from all_parameters(below, inner)


def find_changes(
    cls: type[Any], before: Mapping[str, Any], after: Mapping[str, Any], changed_by: str = ""
) -> Iterator[tuple[str, bool]]:
    """Find the parameters that differ between two objects, as requests have them.

    Yields paths below the object, and whether a modification may change the parameter. Objects of
    a list are compared by their position.
    """
    for parameter in parameters(cls):
        name, own = parameter.name, parameter.changed_by or changed_by
        given = [values.get(name) for values in (before, after)]
        old, new = (parameter.default if value is None else value for value in given)
        pairs = [(name, old, new)]
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            pairs = [(f"{name}[{n}]", *pair) for n, pair in enumerate(zip(old, new, strict=True))]
        inner = class_of(parameter.kind)
        if inner and all(isinstance(o, Mapping) and isinstance(n, Mapping) for _, o, n in pairs):
            for path, one, other in pairs:
                below = find_changes(inner, one, other, own)
                yield from ((f"{path}.{rest}", is_allowed) for rest, is_allowed in below)
        elif old != new:
            yield name, own == MODIFICATION


class ObjectOf(Kind[T]):
    """An object, read into a dataclass.

    :param check: checks rules between parameters, notes errors, and returns the value to use
    :param takes_blanks: an empty string counts as left out, since forms and templates write one
    """

    words = "object"

    def __init__(
        self,
        cls: type[T],
        check: Callable[[T, Reader], Any] | None = None,
        takes_blanks: bool = False,
    ) -> None:
        self.cls, self._check, self._takes_blanks = cls, check, takes_blanks

    @functools.cached_property
    def fallback(self) -> T:
        """An object whose missing parameters are not noted as errors."""
        return read_fields(self.cls, Reader({}, "", ValidationErrors()))

    def parse(self, reader: Reader) -> T:
        if not is_object(reader):
            return self.fallback
        if self._takes_blanks:
            values = {key: None if text == "" else text for key, text in reader.value.items()}
            reader = Reader(values, reader.path, reader.errors, reader.context)
        parsed = read_fields(self.cls, reader)
        self._refuse_unknown(reader)
        return self._check(parsed, reader) if self._check else parsed

    def patch(self, is_whole: bool = False) -> "ObjectOf[Any]":
        """The JSON Merge Patch (RFC 7396) of the object that a modification may have.

        :param is_whole: with all parameters, since a modification may add the object
        """
        fields = []
        for declared in parameters(self.cls):
            own, kind = is_whole or declared.changed_by == MODIFICATION, declared.kind
            item = kind.kind if isinstance(kind, ListOf) else kind
            below = item.patch(own) if isinstance(item, ObjectOf) else None
            if own or (below and parameters(below.cls)):
                made = dataclasses.replace(
                    declared, kind=below if below and item is kind else kind, default=None,
                    required=Optional() if isinstance(declared.required, Always) else Kept(),
                    left_out="", changed_by="",
                )  # fmt: skip
                fields.append((made.name, Any, field(default=None, metadata={"parameter": made})))
        cls = dataclasses.make_dataclass(self.cls.__name__, fields)
        return ObjectOf(cls, takes_blanks=self._takes_blanks)

    def _refuse_unknown(self, reader: Reader) -> None:
        names = {parameter.name for parameter in parameters(self.cls)}
        for key in reader.value:
            if key not in names:
                known = ", ".join(sorted(names))
                reader.at(str(key)).refuse(f"unknown parameter; known here: {known}")

    def schema(self) -> dict[str, Any]:
        declared = parameters(self.cls)
        required = [p.name for p in declared if isinstance(p.required, Always)]
        rules = [rule for p in declared if (rule := p.required.schema(p.name))]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {p.name: self._schema_of(p) for p in declared},
            "additionalProperties": False,
        }
        if required:
            schema["required"] = required
        return {**schema, "allOf": rules} if rules else schema

    def _schema_of(self, parameter: Parameter) -> dict[str, Any]:
        schema = parameter.kind.schema()
        others = [{"const": ""}] if self._takes_blanks else []
        others += [{"type": "null"}] if parameter.required.takes_null else []
        schema = {"anyOf": [schema, *others]} if others else schema
        schema["description"] = _REFERENCE.sub("", parameter.meaning).replace("``", "`")
        if parameter.default is not None:
            schema["default"] = parameter.default
        if parameter.example is not None:
            schema["examples"] = [parameter.example]
        return schema


def read_fields(cls: type[T], reader: Reader) -> T:
    """Read the parameters of an object into a dataclass; errors are noted in the reader."""
    values = {}
    for declared in dataclasses.fields(cls):  # type: ignore[arg-type]
        if "parameter" in declared.metadata:
            values[declared.name] = _read_one(declared, reader)
        elif "inline" in declared.metadata:
            group = declared.metadata["inline"]
            is_given = any(reader.has(parameter.name) for parameter in parameters(group))
            is_left_out = declared.metadata["is_optional"] and not is_given
            values[declared.name] = None if is_left_out else read_fields(group, reader)
    return cls(**values)


def _read_one(declared: "dataclasses.Field[Any]", reader: Reader) -> Any:
    parameter: Parameter = declared.metadata["parameter"]
    given = reader.at(parameter.name)
    if given.value is not None:
        return parameter.kind.parse(given)
    if lack := parameter.required.lack(reader):
        given.refuse(lack)
        return parameter.kind.fallback
    return declared.default


def _parsed(kind: Kind[T], default: Any) -> T:
    """Read a default like a value of a request."""
    errors = ValidationErrors()
    value = kind.parse(Reader(default, "default", errors))
    errors.raise_if_any()
    return value


def read_object(kind: Kind[T], values: Mapping[str, Any], name: str, context: Context) -> T:
    """Read the required object of a name.

    :raises ParameterError: with every error
    """
    errors = ValidationErrors()
    reader = Reader(values.get(name), name, errors, context)
    if reader.value is None:
        reader.refuse("missing in additionalParams")
        errors.raise_if_any()
    value = kind.parse(reader)
    errors.raise_if_any()
    return value


def read_parameter(cls: type[Any], field_name: str, values: Mapping[str, Any], name: str) -> Any:
    """Read one parameter of an object, by the name of its field.

    :raises ParameterError: with every error
    """
    errors = ValidationErrors()
    (declared,) = (f for f in dataclasses.fields(cls) if f.name == field_name)
    value = _read_one(declared, Reader(values.get(name), name, errors))
    errors.raise_if_any()
    return value
