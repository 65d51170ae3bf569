"""CUDA's own syntax as C++: launches, shared memory, and the few PTX registers that a timer reads."""

import json
import re
from collections.abc import Sequence

from .tokens import Token, closing, lines_of, opening, parts, solid, spelled, tokenize

# Function attributes: they change nothing where device and host are the same machine.
_DROPPED = {"__global__", "__device__", "__host__", "__constant__", "__managed__", "__grid_constant__"}
_REPLACED = {
    "__forceinline__": "inline __attribute__((always_inline))",
    "__noinline__": "__attribute__((noinline))",
}
_REGISTERS = {
    "globaltimer": "::kpd_standin::now_ns()",
    "clock64": "(unsigned long long)clock64()",
    "laneid": "::kpd_standin::lane()",
    "smid": "0u",
}
_NOT_NAMES = {"return", "else", "do"}  # before a parenthesis, no function
_PTX = re.compile(r'"\s*mov\.[us](?:32|64)\s+%0\s*,\s*%{1,2}(\w+)\s*;\s*"')


class RewriteError(Exception):
    """CUDA that the stand-in does not know. `str()` says what."""


def rewrite(preprocessed: str) -> str:
    """C++ for g++ with the line numbers of the CUDA text."""
    state = _Rewriter()
    return "".join(text if system else state.part(text) for system, text in parts(preprocessed))


class _Rewriter:
    def __init__(self) -> None:
        self.templates: set[str] = set()  # names of kernel templates: their addresses cannot always be taken
        self.shared = 0
        self.registered: dict[int, str] = {}  # where the declarations of variables end, with their names

    def part(self, text: str) -> str:
        """One stretch of the user's own text; launches inside launches' arguments do not occur."""
        tokens = tokenize(text)
        out: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.kind == "word" and token.text in _DROPPED:
                if token.text == "__global__":
                    self._note_template(out, tokens, at)
                if token.text == "__device__":
                    self._note_variable(tokens, at)
                out.append(Token("space", " " * len(token.text)))  # columns in messages stay right
                at += 1
            elif token.kind == "word" and token.text in _REPLACED:
                out.append(Token("word", _REPLACED[token.text]))
                at += 1
            elif token.kind == "word" and token.text in ("__launch_bounds__", "__maxnreg__"):
                at = _past_parentheses(tokens, at)
            elif token.kind == "word" and token.text in ("asm", "__asm__", "__asm"):
                at = self._assembly(out, tokens, at)
            elif token.kind == "word" and token.text == "__shared__":
                at = self._shared(out, tokens, at)
            elif token.text == "<" and _triple(tokens, at, "<"):
                at = self._launch(out, tokens, at)
            elif token.text == ";" and at in self.registered:
                name = self.registered.pop(at)
                out.append(
                    Token(
                        "word", f"; [[maybe_unused]] static const bool kpd_known_{name} = ::kpd_standin::known({name});"
                    )
                )
                at += 1
            else:
                out.append(token)
                at += 1
        return "".join(token.text for token in out)

    def _note_variable(self, tokens: Sequence[Token], at: int) -> None:
        """Have what is declared with `__device__` registered after its declaration, unless that is a function."""
        end = next((i for i in range(at, len(tokens)) if tokens[i].text in "([{=;"), None)
        last = end if end is not None and tokens[end].text in "[{=;" else None
        while last is not None and tokens[last].text != ";":
            last = closing(tokens, last) if tokens[last].text in "([{" else last
            last = None if last is None or last + 1 >= len(tokens) else last + 1
        if end is not None and last is not None:
            self.registered[last] = _declared(tokens[at + 1 : end])[0]

    def _note_template(self, before: Sequence[Token], tokens: Sequence[Token], at: int) -> None:
        start = _statement_start(before)
        if not any(token.text == "template" for token in before[start:]):
            return
        name = ""
        while at < len(tokens):
            token = tokens[at]
            if token.text in ("__launch_bounds__", "__attribute__"):
                at = _past_parentheses(tokens, at)
                continue
            if token.text == "(":
                self.templates.add(name)
                return
            name = token.text if token.kind == "word" else name
            at += 1

    def _launch(self, out: list[Token], tokens: Sequence[Token], at: int) -> int:
        """`NAME<<<SHAPE>>>(ARGS)`: NAME is at the end of `out`, the rest begins at `at`."""
        start = _callee_start(out)
        end = _shape_end(tokens, at + 3)
        paren = solid(tokens, end + 3, 1) if end is not None else None
        last = closing(tokens, paren) if paren is not None and tokens[paren].text == "(" else None
        if start is None or end is None or last is None or paren is None:
            raise RewriteError("a kernel launch that does not read as NAME<<<grid, block, …>>>(…)")
        name = spelled(out[start:])
        words = [token.text for token in out[start:] if token.kind == "word"]
        template = any(word in self.templates for word in words)
        shape = "".join(token.text for token in tokens[at + 3 : end])
        args = "".join("nullptr" if token.text == "__null" else token.text for token in tokens[paren + 1 : last])
        gap = lines_of(out[start:]) + lines_of(tokens[end:paren])
        address = "nullptr" if template else f"::kpd_standin::address({name})"
        del out[start:]
        call = f"[&](auto ...kpd_a) {{ return [=] {{ {name}(kpd_a...); }}; }}"
        text = (
            f"::kpd_standin::launch({json.dumps(name)}, {address}, ::kpd_standin::shape({shape}), {call}({gap}{args}))"
        )
        out.append(Token("word", text))
        return last + 1

    def _shared(self, out: list[Token], tokens: Sequence[Token], at: int) -> int:
        """A declaration with `__shared__` in it: what stands before it in the statement is at the end of `out`."""
        start = _statement_start(out)
        end = next((i for i in range(at, len(tokens)) if tokens[i].text in ";{="), None)
        if end is None or tokens[end].text != ";":
            raise RewriteError("a __shared__ variable has no initialiser")
        words = [token for token in (*out[start:], *tokens[at + 1 : end]) if token.text != "static"]
        del out[start:]
        dynamic = any(token.text == "extern" for token in words)
        words = [token for token in words if token.text not in ("extern", "__shared__")]
        out.append(Token("word", _dynamic(words) if dynamic else self._static(words)))
        return end + 1

    def _static(self, words: Sequence[Token]) -> str:
        declaration = "".join(token.text for token in words)
        text = f"static {declaration};"
        for name in _declared(words):
            self.shared += 1
            seen = f"kpd_seen_{self.shared}"
            text += f" static unsigned long long {seen};"
            text += (
                f" [[maybe_unused]] const bool {seen}_ = ::kpd_standin::fresh({seen}, (void *)&{name}, sizeof {name});"
            )
        return text

    def _assembly(self, out: list[Token], tokens: Sequence[Token], at: int) -> int:
        first = next((i for i in range(at, len(tokens)) if tokens[i].text in "(;"), None)
        last = closing(tokens, first) if first is not None else None
        if first is None or last is None:
            raise RewriteError("an asm statement without its parentheses")
        inside = [token for token in tokens[first + 1 : last] if not token.blank]
        register = _PTX.fullmatch(inside[0].text) if inside else None
        operands = "".join(token.text for token in inside[1:])
        target = re.fullmatch(r':"=[lr]"\((.*?)\)(?:::"memory"|:)*', operands)
        if not register or not target or register[1] not in _REGISTERS:
            raise RewriteError(f"the CPU stand-in cannot run PTX: {inside[0].text if inside else 'asm'}")
        out.append(Token("word", f"({target[1]} = {_REGISTERS[register[1]]}){lines_of(tokens[at:last])}"))
        return last + 1


def _triple(tokens: Sequence[Token], at: int, mark: str) -> bool:
    return [token.text for token in tokens[at : at + 3]] == [mark] * 3


def _past_parentheses(tokens: Sequence[Token], at: int) -> int:
    """The index after `NAME(…)`, NAME being at `at`."""
    paren = solid(tokens, at + 1, 1)
    last = closing(tokens, paren) if paren is not None and tokens[paren].text == "(" else None
    return at + 1 if last is None else last + 1


def _statement_start(out: Sequence[Token]) -> int:
    """Where the statement begins whose first part is the end of `out`; markers and blanks before it are not of it."""
    start = next((i + 1 for i in range(len(out) - 1, -1, -1) if out[i].text in (";", "{", "}", ":")), 0)
    for i in range(len(out) - 1, start - 1, -1):
        if out[i].kind == "marker" or out[i].text.endswith(";"):
            start = i + 1
            break
    first = solid(out, start, 1)
    return len(out) if first is None else first


def _callee_start(out: Sequence[Token]) -> int | None:
    """Where the expression begins that names the kernel: `ns::name<args>`, `a->b`, `(expression)`, `table[i]`."""
    at = solid(out, len(out) - 1, -1)
    while at is not None:
        while at is not None and out[at].text in (">", ")", "]"):
            group = opening(out, at)
            if group is None:
                return None
            before = solid(out, group - 1, -1)
            if out[at].text == ")" and (before is None or not _named(out[before])):
                return group
            at = before
        if at is None or out[at].kind != "word":
            return None
        before = solid(out, at - 1, -1)
        if before is None or out[before].text not in ("::", "->", "."):
            return at
        qualifier = solid(out, before - 1, -1)
        if out[before].text == "::" and (
            qualifier is None or not (_named(out[qualifier]) or out[qualifier].text == ">")
        ):
            return before
        at = qualifier
    return None


def _named(token: Token) -> bool:
    return token.kind == "word" and token.text not in _NOT_NAMES


def _shape_end(tokens: Sequence[Token], at: int) -> int | None:
    """Index of the `>>>` that ends a launch's shape: the one followed by a parenthesis, outside of all brackets."""
    while at < len(tokens):
        if tokens[at].text in "([{":
            last = closing(tokens, at)
            if last is None:
                return None
            at = last
        elif _triple(tokens, at, ">") and (after := solid(tokens, at + 3, 1)) is not None and tokens[after].text == "(":
            return at
        at += 1
    return None


def _declared(words: Sequence[Token]) -> list[str]:
    """Names that a declaration declares: the last word before the brackets of each declarator."""
    names: list[str] = []
    name, depth, dims = "", 0, False
    for token in (*words, Token("mark", ",")):
        if token.text in "(<[":
            dims = dims or (token.text == "[" and depth == 0)
            depth += 1
        elif token.text in ")>]":
            depth -= 1
        elif token.text == "," and depth == 0:
            names.append(name)
            dims = False
        elif token.kind == "word" and depth == 0 and not dims:
            name = token.text
    return names


def _dynamic(words: Sequence[Token]) -> str:
    """`T name[]…`: a pointer to the one block of dynamic shared memory."""
    name = _declared(words)[0]
    at = next(i for i, token in enumerate(words) if token.text == name and token.kind == "word")
    bracket = solid(words, at + 1, 1)
    last = closing(words, bracket) if bracket is not None and words[bracket].text == "[" else None
    if last is None:
        raise RewriteError("extern __shared__ without []")
    type_text = spelled(_without_alignment(words[:at]))
    dims = spelled(words[last + 1 :])
    pointer = f"{type_text} (*){dims}" if dims else f"{type_text} *"
    declared = f"{type_text} (*const {name}){dims}" if dims else f"{type_text} *const {name}"
    return f"[[maybe_unused]] {declared} = reinterpret_cast<{pointer}>(::kpd_standin::dynamic_shared);{lines_of(words)}"


def _without_alignment(words: Sequence[Token]) -> list[Token]:
    kept: list[Token] = []
    at = 0
    while at < len(words):
        if words[at].text in ("alignas", "__attribute__"):
            at = _past_parentheses(words, at)
        else:
            kept.append(words[at])
            at += 1
    return kept
