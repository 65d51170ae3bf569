"""Reads the values of task.toml that have to name something there is, or to be parsed."""

import re

from kpd.workspace import expr
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.languages import LANGUAGES, Language
from kpd.workspace.specs import ProfileSpec, RooflineSection, RooflineSpec
from kpd.workspace.strict import Document

SHOWN = ("kernel.h", "interface.md", "task.md", "prompt.md")
"""The protected files that an agent is shown where the task does not name any."""


def language(document: Document, name: str) -> Language:
    """Return the language of this name. Raises ConfigError."""
    try:
        if (found := LANGUAGES.get(name)) is not None:
            return found
        known = ", ".join(LANGUAGES.names())
    except PlugInError as err:
        raise document.error(err.message, err.remedy, "task", "language") from err
    raise document.error(f"unknown language {name!r}", f"known are {known}", "task", "language")


def context(document: Document, given: tuple[str, ...] | None, protected: tuple[str, ...]) -> tuple[str, ...]:
    """Return the protected files that an agent is shown. Raises ConfigError."""
    if given is None:
        return tuple(name for name in SHOWN if name in protected)
    if strange := [name for name in given if name not in protected]:
        message = f"context file {strange[0]!r} is none of the task's protected files"
        remedy = "name files beside the editable ones, which an agent sees anyway"
        raise document.error(message, remedy, "task", "context")
    return given


def profile(document: Document, spec: ProfileSpec) -> ProfileSpec:
    """Return [profile], whose kernel is a regular expression. Raises ConfigError."""
    try:
        re.compile(spec.kernel or "")
    except re.error as err:
        message = f"'kernel' in [profile] is no regular expression: {err}"
        raise document.error(message, 'for example "transpose.*"', "profile", "kernel") from err
    return spec


def roofline(document: Document, spec: RooflineSection) -> RooflineSpec:
    """Return [roofline] with its expressions parsed. Raises ConfigError."""
    return RooflineSpec(_expression(document, "bytes", spec.bytes), _expression(document, "flops", spec.flops))


def _expression(document: Document, name: str, text: str | None) -> expr.Expression | None:
    try:
        return None if text is None else expr.parse(text)
    except expr.ExprError as err:
        raise document.error(f"'{name}' in [roofline]: {err}", 'for example "rows*cols*8"', "roofline", name) from err
