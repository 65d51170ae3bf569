"""Defines the base of values of several kinds: each kind is a class with its own data.

Such a value is a JSON object whose `kind` says which it is; `match` tells them apart. None holds a sentence of kpd's
own: `kpd.text` makes those. What others have said (a compiler, a host, a person) stands in a field named for that.
"""

import re

import msgspec


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Kind(msgspec.Struct, frozen=True, tag_field="kind", tag=_snake):
    """Base of all of them."""

    @property
    def name(self) -> str:
        """The kind, as JSON and filters have it: `not_built`."""
        return str(self.__struct_config__.tag)


class Told(Kind, frozen=True):
    """A sentence of a log that an older kpd has written, where it kept no data: it is shown as it is."""

    text: str
