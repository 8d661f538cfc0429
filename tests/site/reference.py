"""Reference pages from code: commands and options, configuration keys, the Python API, columns of files, filters."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from pydantic import BaseModel, ByteSize
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from encoder.settings import models_in
from tests.pipelines.command_tree import all_commands
from tests.site.pages import text_of

PACKAGES = ("mining", "encoder", "pipelines")
# Title, what reads it, and where the settings are.
ROOTS = {
    "mine": ("`twinlode mine --config`, `--set`", "pipelines.mine.mine_settings:JobSettings"),
    "align": ("`AlignSettings` of the Python API", "pipelines.align.align_settings:AlignSettings"),
    "clean": ("`twinlode clean --config`", "pipelines.clean.clean_settings:CleanSettings"),
    "train": ("`twinlode train CONFIG`", "encoder.training.training_settings:TrainSettings"),
    "train-classifier": (
        "`twinlode train-classifier CONFIG`",
        "pipelines.clean.classifier_training:ClassifierSettings",
    ),
    "loop": ("`twinlode loop CONFIG`", "pipelines.loop.loop_settings:LoopSettings"),
    "compare": ("`twinlode compare CONFIG`", "pipelines.evaluation.comparison:CompareSettings"),
    "suite": ("`twinlode eval suite --config`", "pipelines.evaluation.suite:Suite"),
    "local": ("`--runner`", "pipelines.runners.runner:RunnerSettings"),
    "flink": ("`--runner`", "pipelines.runners.clusters:FlinkSettings"),
    "spark": ("`--runner`", "pipelines.runners.clusters:SparkSettings"),
    "dataflow": ("`--runner`", "pipelines.runners.clusters:DataflowSettings"),
}


def commands() -> str:
    return "\n".join(_command(name, command) for name, command in all_commands().items())


def configuration() -> str:
    """A section for each file of settings, and in it one for each part, wherever that first occurs."""
    anchors: dict[type[BaseModel], str] = {}
    roots = {name: _load(place) for name, (_, place) in ROOTS.items()}
    for name, root in roots.items():
        for part in _parts(root):
            anchors.setdefault(part, name if part is root else _anchor(name, part))
    text = []
    shown: set[type[BaseModel]] = set()
    for name, root in roots.items():
        text.append(f"## {name}\n\nRead by {ROOTS[name][0]}.\n")
        for part in _parts(root):
            if part not in shown:
                text.append(_section(part, anchors, "" if part is root else anchors[part]))
            shown.add(part)
    return "\n".join(text)


def filters() -> str:
    from mining.filters import FilterSettings

    lines = ["| filter | drops | settings | default |", "|---|---|---|---|"]
    for name, field in FilterSettings.model_fields.items():
        kind = next(iter(models_in(field.annotation)))
        told = " ".join((kind.__doc__ or "").split())
        for number, (key, setting) in enumerate(kind.model_fields.items()):
            first = (f"`{name}`", told) if number == 0 else ("", "")
            about = f"`{key}`: {_cell(_description(setting))}"
            lines.append(f"| {first[0]} | {_cell(first[1])} | {about} | {_default(setting)} |")
    return "\n".join(lines)


def python_api() -> str:
    """Every public name with its signature and docstring."""
    text = []
    for package in PACKAGES:
        module = import_module(package)
        text.append(f"## {package}\n\n{(module.__doc__ or '').splitlines()[0]}\n")
        text += [_public(package, name, getattr(module, name)) for name in module.__all__ if name != "__version__"]
    return "\n".join(text)


def pair_columns() -> str:
    from mining.pairs import SCHEMA

    return _columns(SCHEMA)


def sentence_columns() -> str:
    from pipelines.datasets.sentences import PIECES, SCHEMA

    return _columns(SCHEMA.append(PIECES))


def input_formats() -> str:
    from pipelines.prepare.readers.formats import _EXTENSIONS, _READERS

    lines = ["| format | extensions | reader |", "|---|---|---|"]
    for name, read in _READERS.items():
        endings = ", ".join(f"`.{ending}`" for ending, kind in _EXTENSIONS.items() if kind == name)
        told = (read.__doc__ or inspect.getmodule(read).__doc__ or "").split("\n")[0]
        lines.append(f"| `{name}` | {endings or 'any other' if name == 'txt' else endings or '-'} | {_cell(told)} |")
    return "\n".join(lines)


def comparison() -> str:
    """README's table of other tools, for a page one folder down."""
    (table,) = re.findall(r"^\| \| twinlode \|.*?(?=\n\n)", text_of("README.md"), re.MULTILINE | re.DOTALL)
    return table.replace("](docs/", "](../")


GENERATED: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        commands,
        comparison,
        configuration,
        filters,
        python_api,
        pair_columns,
        sentence_columns,
        input_formats,
    )
}


def undescribed() -> Iterator[str]:
    """Configuration keys and fields of public settings about which the reference has nothing to say."""
    seen: set[type[BaseModel]] = set()
    public = [getattr(import_module(package), name) for package in PACKAGES for name in import_module(package).__all__]
    settings = [thing for thing in public if isinstance(thing, type) and issubclass(thing, BaseModel)]
    for root in [*(_load(place) for _, place in ROOTS.values()), *settings]:
        for part in _parts(root):
            if part not in seen:
                seen.add(part)
                yield from (
                    f"{part.__module__}.{part.__name__}.{name}"
                    for name, field in part.model_fields.items()
                    if not _description(field)
                )


def _command(name: str, command: Any) -> str:
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    options = [item for item in command.params if item.param_type_name == "option" and not item.hidden]
    usage = " ".join(["twinlode", name, *(_argument(item) for item in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", _prose(command.help or ""), "", f"    {usage}", ""]
    lines += ["| option | | default |", "|---|---|---|"]
    lines += [f"| `{_argument(item)}` | {_cell(item.help or '')} | |" for item in arguments]
    lines += [f"| {_flags(item)} | {_cell(item.help or '')} | {_option_default(item)} |" for item in options]
    return "\n".join([*lines, ""])


def _prose(help_text: str) -> str:
    """Paragraphs, and the examples as code."""
    told, _, examples = help_text.partition("\b\n")
    prose, shown = inspect.cleandoc(told).replace("<", "&lt;"), inspect.cleandoc(examples.partition("\n")[2])
    return f"{prose}\n\n```bash\n{shown}\n```" if shown else prose


def _argument(item: Any) -> str:
    name = item.name.upper()
    return name if item.required else f"[{name}]"


def _flags(item: Any) -> str:
    takes = "" if item.is_flag else " " + (_cell(item.metavar or "") or _kind(item.type_descriptor.annotation, {}))
    return ", ".join(f"`{flag}`" for flag in item.opts) + takes


def _option_default(item: Any) -> str:
    if item.required:
        return "required"
    default = item.default
    if default in (None, False, ()) or default == [] or callable(default):
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"


def _load(place: str) -> type[BaseModel]:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _parts(root: type[BaseModel]) -> list[type[BaseModel]]:
    """The settings and all sections in them, in the order of their keys."""
    found = [root]
    for part in found:
        for field in part.model_fields.values():
            found += [model for model in _models(field) if model not in found]
    return found


def _models(field: FieldInfo) -> list[type[BaseModel]]:
    return list(dict.fromkeys(models_in(field.annotation)))


def _anchor(root: str, part: type[BaseModel]) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", part.__name__.removesuffix("Settings")).lower()
    return f"{root}-{words}"


def _section(part: type[BaseModel], anchors: dict[type[BaseModel], str], anchor: str) -> str:
    lines = [f"### {part.__name__} {{ #{anchor} }}", ""] if anchor else []
    lines += [" ".join((part.__doc__ or "").split()), ""] if _has_own_doc(part) else []
    lines += ["| key | value | default | |", "|---|---|---|---|"]
    for name, field in part.model_fields.items():
        kind = _kind(field.annotation, anchors)
        lines.append(f"| `{name}` | {kind} | {_default(field)} | {_cell(_description(field))} |")
    return "\n".join([*lines, ""])


def _has_own_doc(part: type[BaseModel]) -> bool:
    return bool(part.__doc__) and "__doc__" in vars(part)


def _description(field: FieldInfo) -> str:
    if field.description:
        return field.description[:1].upper() + field.description[1:].rstrip(".") + "."
    if get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1:
        return "Which kind this section is."
    told = [" ".join((model.__doc__ or "").split()) for model in _models(field) if _has_own_doc(model)]
    return told[0].partition(". ")[0].rstrip(".") + "." if told else ""


def _kind(annotation: Any, anchors: dict[type[BaseModel], str]) -> str:
    """A type in words; a section is a link to it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(arguments[0], anchors)
    if origin in (Union, types.UnionType):
        return ", ".join(dict.fromkeys(_kind(part, anchors) for part in arguments if part is not type(None)))
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin in (list, tuple):
        inside = [_kind(part, anchors) for part in arguments if part is not Ellipsis]
        return f"list of {inside[0]}" if len(set(inside)) == 1 else f"list of {', '.join(inside)}"
    if origin is dict:
        return f"mapping to {_kind(arguments[1], anchors)}"
    if annotation in anchors:
        return f"[{annotation.__name__}](#{anchors[annotation]})"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{choice.value}`" for choice in annotation)
    names = {ByteSize: "bytes, such as 2GiB", int: "integer", float: "number", str: "text", bool: "true, false"}
    return names.get(annotation, getattr(annotation, "__name__", "any"))


def _default(field: FieldInfo) -> str:
    default = field.default
    if field.is_required():
        return "required"
    if default is PydanticUndefined or isinstance(default, BaseModel):
        return ""
    if isinstance(default, ByteSize):
        default = default.human_readable(separator="")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "" if default is None else f"`{default.value if isinstance(default, Enum) else default}`"


def _public(package: str, name: str, thing: Any) -> str:
    lines = [f"### {package}.{name} {{ #{package}-{name} }}", ""]
    if isinstance(thing, type) and issubclass(thing, BaseModel | Enum):
        lines.append(f"```python\nclass {name}\n```")
    else:
        lines.append(f"```python\n{name}{_signature(thing)}\n```")
    lines += ["", _docstring(thing), ""]
    if isinstance(thing, type) and issubclass(thing, Enum):
        lines += ["Values: " + ", ".join(f"`{choice.value}`" for choice in thing) + ".", ""]
    if isinstance(thing, type) and issubclass(thing, BaseModel):
        lines += ["| field | default | |", "|---|---|---|"]
        for key, field in thing.model_fields.items():
            lines.append(f"| `{key}` | {_default(field)} | {_cell(_description(field))} |")
        lines.append("")
    elif isinstance(thing, type) and not issubclass(thing, Exception):
        lines += _methods(name, thing)
    return "\n".join(lines)


def _methods(name: str, thing: type) -> list[str]:
    lines = []
    for key, member in vars(thing).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if key.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        shown = f"{name}.{key}{_signature(function)}"
        lines += [f"```python\n{shown}\n```", "", f"{_docstring(function)}", ""]
    return lines


def _signature(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    own = [item for item in signature.parameters.values() if item.name not in ("self", "cls")]
    return re.sub(r"ForwardRef\((.*?)\)(?=[,) ])", r"\1", str(signature.replace(parameters=own)).replace("'", ""))


def _docstring(thing: Any) -> str:
    told = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r"(?<!`)<(?!`)", "&lt;", told)


def _columns(schema: pa.Schema) -> str:
    lines = ["| column | type |", "|---|---|"]
    return "\n".join([*lines, *(f"| `{field.name}` | {field.type} |".replace("<", "&lt;") for field in schema)])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
