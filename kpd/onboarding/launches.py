"""Where a source launches kernels: `kernel<<<grid, block, shared, stream>>>(…)`, or by cudaLaunchKernel and its kin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kpd.onboarding import values
from kpd.onboarding.macros import Macro
from kpd.onboarding.names import Names
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import Token, closing, spelled, split, template_end, template_start, together
from kpd.onboarding.values import Dim3, Record, Unknown

MOST_GRID = (2**31 - 1, 65_535, 65_535)
MOST_BLOCK = (1024, 1024, 64)
MOST_THREADS = 1024
_BY_ARGUMENTS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_BY_CONFIG = ("cudaLaunchKernelEx", "cudaLaunchKernelExC")


@dataclass(frozen=True, slots=True)
class Extent:
    """A grid or a block: its size, or the reason why it is not known."""

    size: Dim3 | None
    why: str = ""

    @property
    def threads(self) -> int:
        return self.size.x * self.size.y * self.size.z if self.size else 0


@dataclass(frozen=True, slots=True)
class Launch:
    """A place where `kernel` is launched; `why` says why the kernel is not known, and is empty when it is.

    `grid` and `block` are the expressions as they stand there, `template` and `arguments` as people wrote them.
    """

    kernel: str
    place: str
    at: int
    grid: tuple[Token, ...]
    block: tuple[Token, ...]
    template: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    shared: str = ""
    stream: str = ""
    why: str = ""


def launches(source: Source) -> tuple[Launch, ...]:
    """Every launch of the source, in its order."""
    found = []
    for at, token in enumerate(source.tokens):
        if token.text == "<" and token.kind == "mark" and together(source.tokens, at, "<<<"):
            found += _chevrons(source, at)
        elif token.text in _BY_ARGUMENTS and token.kind == "word":
            found += _call(source, at)
        elif token.text in _BY_CONFIG and token.kind == "word":
            found += _configured(source, at)
        elif token.text in source.read.opaque and _launches(source.read.macros.get(token.text)):
            why = source.read.opaque[token.text]
            found.append(_launch(token, at, "", (), f"a macro launches it, and is not followed here: {why}"))
    return tuple(found)


def resolve(
    source: Source, launch: Launch, known: Mapping[str, int | float], record: Record | None = None
) -> tuple[Extent, Extent]:
    """Grid and block of a launch whose scalars are `known`, or whose case is `record`. Nothing is guessed."""
    names = Names(source, launch.at, known, record)
    return _extent(names, launch.grid, MOST_GRID, "grid"), _extent(names, launch.block, MOST_BLOCK, "block")


def fits(size: Dim3, block: bool) -> bool:
    """Whether CUDA launches a grid, or a block, of this size."""
    most = MOST_BLOCK if block else MOST_GRID
    few = not block or size.x * size.y * size.z <= MOST_THREADS
    return few and all(1 <= one <= limit for one, limit in zip(size, most, strict=True))


def _launches(macro: Macro | None) -> bool:
    return macro is not None and any(together(macro.body, at, "<<<") for at in range(len(macro.body)))


def _extent(names: Names, tokens: Sequence[Token], most: tuple[int, int, int], what: str) -> Extent:
    if not tokens:
        return Extent(None, f"no {what} stands there")
    try:
        size = values.dim3([names.value(tokens)])
    except Unknown as err:
        return Extent(None, f"{spelled(tokens)}: {err}")
    if not fits(size, most is MOST_BLOCK):
        return Extent(None, f"{spelled(tokens)} is {size}, which CUDA refuses as a {what}")
    return Extent(size)


def _chevrons(source: Source, at: int) -> list[Launch]:
    tokens = source.tokens
    if together(tokens, at - 1, "<<<<"):
        return []
    end = _end(tokens, at + 3)
    if end is None:
        return []
    config = [*split(tokens[at + 3 : end]), [], [], [], []]
    arguments = split(tokens[end + 4 : closing(tokens, end + 3)])
    kernel, template, why = _callee(source, at)
    return [_launch(tokens[at], at, kernel, template, why, config[0], config[1], arguments, config[2], config[3])]


def _launch(
    token: Token,
    at: int,
    kernel: str,
    template: tuple[str, ...],
    why: str,
    grid: Sequence[Token] = (),
    block: Sequence[Token] = (),
    arguments: Sequence[Sequence[Token]] = (),
    shared: Sequence[Token] = (),
    stream: Sequence[Token] = (),
) -> Launch:
    spelled_out = tuple(spelled(part) for part in arguments)
    return Launch(
        kernel, token.place, at, tuple(grid), tuple(block), template, spelled_out, spelled(shared), spelled(stream), why
    )


def _end(tokens: Sequence[Token], at: int) -> int | None:
    """The index of the `>>>` that ends the configuration of a launch."""
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind == "mark" else ""
        if text in (";", "}"):
            return None
        if text == ">" and together(tokens, at, ">>>") and tokens[at + 3 : at + 4] and tokens[at + 3].text == "(":
            return at
        at = closing(tokens, at) + 1 if text in ("(", "[", "{") else at + 1
    return None


def _callee(source: Source, at: int) -> tuple[str, tuple[str, ...], str]:
    """The kernel that stands before `<<<`, its template arguments, and why it is not known."""
    tokens = source.tokens
    name, template = at - 1, tuple[str, ...]()
    if name >= 0 and tokens[name].text == ">":
        start = template_start(tokens, name)
        if start is None:
            return "", (), "what is launched is not understood here"
        template = tuple(spelled(part) for part in split(tokens[start + 1 : name]))
        name = start - 1
    if name < 0 or tokens[name].kind != "word":
        return "", (), "what is launched is computed"
    qualified = name > 0 and tokens[name - 1].text in ("::", "template")
    return _named(source, tokens[name].text, template, at, qualified)


def _named(
    source: Source, name: str, template: tuple[str, ...], at: int, qualified: bool
) -> tuple[str, tuple[str, ...], str]:
    """The function that a name stands for, through variables that hold it."""
    found = [] if qualified else source.find(name, at)
    for binding in found:
        if binding.kind in ("parameter", "template"):
            return "", template, f"{name} is a parameter, so it is not known here which kernel it is"
        if binding.kind == "variable":
            if len(found) > 1 or not binding.style or any(token.text in ("?", "[", "(") for token in binding.value):
                return "", template, f"{name} is a variable, and may be one of several kernels"
            value = [token for token in binding.value if token.text not in ("&", "{", "}")]
            if value and value[0].kind == "word":
                return _held(value, name, template)
    return name, template, ""


def _held(value: Sequence[Token], name: str, template: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    at = 0
    while at + 2 < len(value) and value[at + 1].text == "::":
        at += 2
    rest = value[at + 1 :]
    if rest and (rest[0].text != "<" or template_end(rest, 0) != len(rest)):
        return "", template, f"{name} is a variable, and what it holds is not understood here"
    return value[at].text, tuple(spelled(part) for part in split(rest[1:-1])) or template, ""


def _call(source: Source, at: int) -> list[Launch]:
    given = _arguments(source, at)
    if len(given) < 4:
        return []
    found = _function(source, given[0], at)
    given = [*given, [], []]
    return [_launch(source.tokens[at], at, *found, given[1], given[2], given[3:4], given[4], given[5])]


def _configured(source: Source, at: int) -> list[Launch]:
    given = _arguments(source, at)
    if len(given) < 2:
        return []
    config = [token for token in given[0] if token.text not in ("&", "*")]
    grid, block = ([*config, *_member(given[0][0], name)] for name in ("gridDim", "blockDim"))
    return [_launch(source.tokens[at], at, *_function(source, given[1], at), grid, block, given[2:])]


def _member(near: Token, name: str) -> tuple[Token, Token]:
    return Token("mark", ".", near.start, near.line, near.file), Token("word", name, near.start, near.line, near.file)


def _arguments(source: Source, at: int) -> list[list[Token]]:
    opening = at + 1
    if opening < len(source.tokens) and source.tokens[opening].text == "<":
        opening = template_end(source.tokens, opening) or opening
    if opening >= len(source.tokens) or source.tokens[opening].text != "(":
        return []
    return split(source.tokens[opening + 1 : closing(source.tokens, opening)])


def _function(source: Source, given: Sequence[Token], at: int) -> tuple[str, tuple[str, ...], str]:
    """The kernel that an argument names, past casts to a pointer."""
    tokens = list(given)
    while tokens and tokens[0].text in ("(", "&", "*", "reinterpret_cast", "static_cast"):
        if tokens[0].text == "(":
            end = closing(tokens, 0)
            tokens = tokens[end + 1 :] or tokens[1:end]
        elif tokens[0].kind == "word":
            tokens = tokens[template_end(tokens, 1) or 1 :]
        else:
            tokens = tokens[1:]
    if not tokens or tokens[0].kind != "word":
        return "", (), "what is launched is computed"
    name, template, why = _held(tokens, spelled(given), ())
    return (name, template, why) if why or len(tokens) > 1 else _named(source, name, template, at, False)
