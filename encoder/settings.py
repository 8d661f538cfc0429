"""Settings from YAML: validated, overridden with `a.b=c`, and with advice for a mistyped key."""

from __future__ import annotations

import difflib
import json
import re
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from mining.errors import InputError

ComputeType = Literal["float32", "float16", "bfloat16"]  # what an encoder multiplies in

# What pydantic says in words that mean little to a person.
_PLAIN = {
    "byte_size": "give a size such as 512MB or 4GiB",
    "byte_size_unit": "give a size such as 512MB or 4GiB",
}
# Keys of earlier configurations, so that a file with one of them says what to write instead.
_RENAMED = {
    "optimiser": "optimizer",
    "normalise": "normalize",
    "alike": "homogeneous",
    "kindred": "hard_negatives: lexical",
    "seed": "random_seed",
    "mode": "search",
}


class Settings(BaseModel):
    """Base of every settings section: unknown keys are errors and values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def load_settings(model_class: type[Model], path: str | Path, overrides: Sequence[str] = ()) -> Model:
    """Read `path`, apply `a.b=c` overrides in order, validate; the first mistake is one sentence."""
    tree = load_tree(path)
    for override in overrides:
        apply_override(tree, override)
    return validate_settings(model_class, tree, str(path))


def load_tree(path: str | Path) -> dict[str, Any]:
    """A YAML file of settings, not validated yet."""
    try:
        tree = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        json.dumps(tree, ensure_ascii=False, skipkeys=True, default=str).encode()  # half a character is no text
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid UTF-8 at byte {error.start + 1}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a value such as the date 2026-99-99
        raise InputError(f"{path}: not valid YAML ({' '.join(str(error).split())})") from None
    tree = {} if tree is None else tree
    if not isinstance(tree, dict):
        raise InputError(f"{path}: settings must be `key: value` lines, not a {type(tree).__name__}")
    return tree


MENDABLE = "missing", "value_error"  # mistakes of which more settings may be all that is needed


def validate_settings(model_class: type[Model], tree: dict[str, Any], where: str) -> Model:
    """`tree` as settings; `where` names its origin in the error."""
    try:
        return model_class.model_validate(tree)
    except ValidationError as error:
        raise InputError(f"{where}: {_explain(model_class, error)}") from None
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: {error.object[:50]!a} is no text: half of a character") from None


def apply_override(tree: dict[str, Any], override: str) -> None:
    """Set one `a.b=c` in a tree of settings that is not validated yet."""
    path, equals, value = override.partition("=")
    if not equals or not path.strip():
        raise InputError(f"--set {override}: write it as section.key=value")
    *parents, last = path.strip().split(".")
    node: Any = tree
    for name in parents:
        node = node[_list_index(node, name, override)] if isinstance(node, list) else _section(node, name)
    try:
        # YAML would take the brace of `{lang}.txt` for that of a mapping.
        parsed = value if re.match(r"\{\w+\}", value) else yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError(f"--set {override}: the value is not valid YAML") from None
    node[_list_index(node, last, override) if isinstance(node, list) else last] = parsed


def _section(node: dict[str, Any], name: str) -> Any:
    if not isinstance(node.get(name), dict | list):
        node[name] = {}
    return node[name]


def _list_index(node: list[Any], name: str, override: str) -> int:
    if not name.isdigit() or int(name) >= len(node):
        raise InputError(f"--set {override}: {name} is not an entry of a list of {len(node)}; count from 0")
    return int(name)


def _explain(model_class: type[BaseModel], error: ValidationError) -> str:
    # An unknown key says more than the missing ones that it causes, and so does any other mistake, but that a list is
    # too short without the element that has one.
    order = {"extra_forbidden": 0, **dict.fromkeys((*MENDABLE, "too_short"), 2)}
    first = min(error.errors(), key=lambda item: order.get(item["type"], 1))
    location = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        message = _PLAIN.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        return f"{location}: {message}" if location else message
    *parents, key = first["loc"]
    known = _fields_at([model_class], parents)
    renamed = _RENAMED.get(str(key), "")
    if renamed.partition(":")[0] in known:
        return f"the key {location} is called {renamed} now"
    return f"unknown key {location}{did_you_mean(str(key), known)}"


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about a name that is not known: the nearest one that is."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; did you mean {near[0]}?" if near else ""


def _fields_at(models: list[type[BaseModel]], location: Sequence[int | str]) -> list[str]:
    """Names of the fields of the settings section at `location`, through lists and tagged unions."""
    for part in location:
        if isinstance(part, int):
            continue
        inside = [field for model in models for name, field in model.model_fields.items() if name == part]
        if inside:
            models = [found for field in inside for found in models_in(field.annotation)]
        else:  # pydantic puts the tag of a discriminated union into the location
            models = [model for model in models if part in _tags(model)]
    return sorted({name for model in models for name in model.model_fields})


def models_in(annotation: Any) -> Iterable[type[BaseModel]]:
    """The settings sections in the type of a field."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, types.UnionType, Annotated, list, tuple, dict):
        for argument in get_args(annotation):
            yield from models_in(argument)


def _tags(model: type[BaseModel]) -> set[Any]:
    return {
        tag
        for field in model.model_fields.values()
        if get_origin(field.annotation) is Literal
        for tag in get_args(field.annotation)
    }
