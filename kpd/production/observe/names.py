"""Reads the names of kernels as a demangler prints them: `void imaging::scale<float, 4>(float*, float, int)`. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kpd.onboarding.observed import spelled

_OPEN, _CLOSED = "(<[{", ")>]}"


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel's name. `qualified` is without template arguments; `types` is None where the name does not tell them."""

    symbol: str
    qualified: str
    template: str
    types: tuple[str, ...] | None

    @property
    def shown(self) -> str:
        return self.qualified + self.template

    def is_called(self, name: str) -> bool:
        """Return whether a person may mean this kernel by `name`: its symbol, or its name with or without more."""
        wanted, ours, plain = (spelled(text) for text in (name, self.shown, self.qualified))
        return wanted in (self.symbol, ours, plain) or any(text.endswith(f"::{wanted}") for text in (ours, plain))


def read_name(symbol: str, demangled: str = "") -> KernelName:
    """Read a demangled name. A symbol that is not mangled, as of extern "C" and Triton, tells no types."""
    text = demangled.strip() or symbol
    parameters = _parameters(text)
    if parameters is None or text == symbol:
        return KernelName(symbol, text, "", None)
    head = text[: len(text) - len(parameters)].rstrip()
    begin = max((at + 1 for at in _outside(head) if head[at] == " "), default=0)
    name = head[begin:]
    opened = _template(name)
    types = tuple(part.strip() for part in _split(parameters[1:-1]))
    return KernelName(symbol, name[:opened], name[opened:], () if types == ("void",) else types)


def called(names: Mapping[str, str], wanted: str) -> tuple[KernelName, ...]:
    """Return the kernels among `names`, demangled by symbol, that a person may mean by `wanted`."""
    found = (read_name(symbol, demangled) for symbol, demangled in names.items() if symbol)
    return tuple(one for one in found if one.is_called(wanted))


def _parameters(text: str) -> str | None:
    """Return the list of parameters at the end, in its parentheses; None without one."""
    if not text.endswith(")"):
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return text[at:] if at else None
    return None


def _template(name: str) -> int:
    """Return where the template's arguments of the last part of the name begin; its length without any."""
    if not name.endswith(">"):
        return len(name)
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ">") - (name[at] == "<")
        if depth == 0:
            return at
    return len(name)


def _outside(text: str) -> Iterator[int]:
    """Yield the offsets outside of all brackets."""
    depth = 0
    for at, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSED)
        if depth == 0 and char not in _CLOSED:
            yield at


def _split(text: str) -> Iterable[str]:
    """Split at the commas outside of brackets; nothing of an empty text."""
    begin = 0
    for at in _outside(text):
        if text[at] == ",":
            yield text[begin:at]
            begin = at + 1
    if text.strip():
        yield text[begin:]
