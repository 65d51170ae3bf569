"""Defines the base of values of several kinds: each kind is a class with its own data.

Such a value is a JSON object whose `kind` says which it is; `match` tells them apart. No kind holds a sentence of
kpd's own: `kpd.text` makes those. What others have said (a compiler, a host, a person) has a field of its own.
"""

import re

import msgspec


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Kind(msgspec.Struct, frozen=True, tag_field="kind", tag=_snake):
    """Base class of all kinds."""

    @property
    def name(self) -> str:
        """The kind, as JSON and filters have it: `not_built`."""
        return str(self.__struct_config__.tag)


class Told(Kind, frozen=True):
    """A sentence from a log of an older kpd, which kept no data for it: it is shown as it is."""

    text: str
