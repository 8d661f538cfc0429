"""Options that come from settings: type, default and help of an option are said once, in the settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel, ByteSize, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from encoder.settings import MENDABLE, apply_override, load_tree, models_in, validate_settings
from mining.errors import InputError

Model = TypeVar("Model", bound=BaseModel)
CHOSEN, CONFIG, SET = "chosen", "config", "set_"


class GivenOptions(dict[str, Any]):
    """The options that were given, by their keys in the settings, with the file and the overrides around them."""

    config: Path | None = None
    overrides: Sequence[str] = ()

    def tree(self) -> dict[str, Any]:
        return settings_tree(self, self.config, self.overrides)


class Keys(NamedTuple):
    """Where an option goes in the settings: dotted keys that all get its value, and further names of the option."""

    keys: tuple[str, ...]
    flags: tuple[str, ...] = ()


def key(*keys: str, flags: Sequence[str] = ()) -> Keys:
    return Keys(keys, tuple(flags))


def typer_command(name: str, function: Callable[..., None]) -> Any:
    """A function as one command of a group."""
    one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    one.command(name)(function)
    return typer.main.get_command(one)


def with_settings(
    model: type[BaseModel] | None, options: Mapping[str, Keys], example: str = "filters.length.min_chars=5"
) -> Callable[[Callable[..., None]], Any]:
    """Give a command one option for each entry of `options`, `--config`, and `--set`, of which `example` is one.

    It gets those that were given as `GivenOptions`.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(function).parameters.items()
            if name != CHOSEN
        ]
        fields = {name: _field(model, where.keys[0]) for name, where in options.items()} if model else {}
        derived = [_parameter(name, field, options[name].flags) for name, field in fields.items()]

        def command(**given: Any) -> None:
            values = {name: given.pop(name) for name in options}
            asked = {name: value for name, value in values.items() if value is not None and value is not False}
            chosen = GivenOptions(
                {at: _value(value, fields[name]) for name, value in asked.items() for at in options[name].keys}
            )
            chosen.config, chosen.overrides = given.pop(CONFIG), given.pop(SET) or ()
            function(**given, **{CHOSEN: chosen})

        command.__doc__, command.__module__ = function.__doc__, function.__module__
        parameters = sorted(
            [*own, *_file_and_overrides(example), *derived],
            key=lambda parameter: parameter.default is not inspect.Parameter.empty,
        )
        keyword = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameter.replace(kind=keyword) for parameter in parameters]
        )
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
        return command

    return decorate


def _file_and_overrides(example: str) -> list[inspect.Parameter]:
    file = typer.Option(help="Settings from a YAML file; options win over it.")
    override = typer.Option("--set", help=f"Any other setting, for example {example}.")
    found = {CONFIG: Annotated[Path | None, file], SET: Annotated[list[str] | None, override]}
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in found.items()]


def settings_tree(
    chosen: Mapping[str, Any], config: Path | None = None, overrides: Sequence[str] | None = None
) -> dict[str, Any]:
    """What a command was given, not validated yet: the file, then options, then `--set`."""
    tree = load_tree(config) if config is not None else {}
    for at, value in chosen.items():
        put(tree, at, value)
    for override in overrides or []:
        apply_override(tree, override)
    return tree


def validated(model: type[Model], options: Mapping[str, Keys], tree: dict[str, Any], where: str) -> Model:
    """The settings of a command; a mistake is told by the name of the option."""
    try:
        return validate_settings(model, tree, where)
    except InputError as error:
        raise InputError(_by_option(str(error), model, options)) from None


def refuse_mistakes(model: type[Model], options: Mapping[str, Keys], tree: dict[str, Any], where: str) -> None:
    """What no further setting can mend is told before any text is looked at, which may tell those that are missing."""
    try:
        model.model_validate(tree)
    except (ValidationError, UnicodeEncodeError) as error:
        if isinstance(error, UnicodeEncodeError) or {found["type"] for found in error.errors()} - {*MENDABLE}:
            validated(model, options, tree, where)


def put(tree: dict[str, Any], at: str, value: Any) -> None:
    """Set the value at a dotted key."""
    *parents, last = at.split(".")
    for name in parents:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    tree[last] = value


def _by_option(message: str, model: type[BaseModel], options: Mapping[str, Keys]) -> str:
    for name, where in options.items():
        flag = f"--{name.replace('_', '-')}"
        for at in where.keys:
            message = message.replace(f": {at}: ", f": {flag}: ")
            if _field(model, at).is_required():  # and where nothing of its section was given, that is what is missing
                message = message.replace(f": {at.rpartition('.')[0]}: Field required", f": {flag} is required")
    return message.replace(": Field required", " is required")


def _field(model: type[BaseModel], at: str) -> FieldInfo:
    first, _, rest = at.partition(".")
    field = model.model_fields[first]
    return _field(next(iter(models_in(field.annotation))), rest) if rest else field


def _parameter(name: str, field: FieldInfo, flags: Sequence[str]) -> inspect.Parameter:
    """A switch, or a string: the settings validate it, with one sentence for every kind of mistake."""
    flag = f"--{name.replace('_', '-')}"
    if field.annotation is bool:
        switch = Annotated[bool, typer.Option(flag, *flags, help=_help(field), show_default=False)]
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=switch)
    option = typer.Option(flag, *flags, help=_help(field), metavar=_kind(field.annotation), show_default=False)
    annotation = Annotated[str | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _value(given: Any, field: FieldInfo) -> Any:
    """A list is given as `a,b`."""
    return given.split(",") if get_origin(field.annotation) is tuple else given


def _help(field: FieldInfo) -> str:
    text = field.description or ""
    text = f"{text[:1].upper()}{text[1:].removesuffix('.')}."
    default = field.default
    if isinstance(default, tuple):
        default = ",".join(map(str, default)) or None
    if isinstance(default, ByteSize):
        default = default.human_readable(separator="")
    if default is None or default is False or default is PydanticUndefined:
        return text
    return f"{text} Default: {default.value if isinstance(default, Enum) else default}."


def _kind(annotation: Any) -> str:
    """How help shows what an option takes: its choices, or the name of its type."""
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return "|".join(_kind(kind) for kind in get_args(annotation) if kind is not type(None))
    if get_origin(annotation) is tuple:
        return ",".join("..." if kind is Ellipsis else _kind(kind) for kind in get_args(annotation))
    if get_origin(annotation) is Literal:
        return "|".join(map(str, get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return "|".join(str(choice.value) for choice in annotation)
    return {ByteSize: "BYTES", int: "NUMBER", float: "NUMBER", str: "TEXT"}.get(annotation, annotation.__name__.upper())
