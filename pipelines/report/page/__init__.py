"""The page: templates and scripts, put together into one file that needs nothing else."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

# What could end a script element or start another, and two line ends that JavaScript once refused in strings.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def asset(name: str) -> str:
    """A file beside this one."""
    return files(__name__).joinpath(name).read_text("utf-8")


def script_json(value: Any) -> Markup:
    """JSON that may stand in a script element whatever texts are in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))


@cache
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, in the version that the charts are made for."""
    import altair
    import vl_convert

    major_minor = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=major_minor)
    return script.replace("</script", "<\\/script")


def render(template: str, **values: Any) -> str:
    """A template's text filled in; values are escaped unless they are `Markup`."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    common = {"style": Markup(asset("style.css")), "themes": Markup(asset("charts.js")), "version": version("twinlode")}
    return environment.from_string(template).render(**common, **values)
