"""Expressions and sources of any kind: numbers as a compiler has them, and no text that does harm."""

import re
import subprocess
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from kpd.onboarding.preprocess import standalone
from kpd.source.expressions import arguments, evaluate
from kpd.source.launches import launches, resolve
from kpd.source.macros import UnreadableDirective
from kpd.source.names import SourceNames
from kpd.source.source import Source
from kpd.source.tokens import spelled, split, tokenize
from kpd.source.values import Unknown

VARIABLES = {"a": 7, "b": 32, "c": 1000, "d": 1}
LEAVES = st.sampled_from(["a", "b", "c", "d", "0", "1", "255", "0x20", "64u", "3"])


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^", "<", ">=", "==", "&&", "||", "<<", ">>"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(" ".join),
        inner.map("({})".format),
        inner.map("-({})".format),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
        st.tuples(inner, inner).map(lambda parts: "std::min<long long>({}, {})".format(*parts)),
    )


EXPRESSIONS = st.recursive(LEAVES, _joined, max_leaves=8)


def test_expressions_are_worth_what_a_compiler_says(tmp_path: Path) -> None:
    """Some hundred of them in one program, all in 64 bits; those that are refused are not asked."""
    known: dict[str, int] = {}

    @settings(max_examples=400, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(EXPRESSIONS)
    def collect(text: str) -> None:
        plain = text.replace("64u", "64")
        try:
            value = evaluate(plain, SourceNames(Source.of(""), 0, VARIABLES))
        except Unknown:
            return
        assert isinstance(value, int)
        known[plain] = value

    collect()
    assert len(known) > 150
    variables = "".join(f"const long long {name} = {value};\n" for name, value in VARIABLES.items())
    prints = "".join(f'printf("%lld\\n", (long long)({_wide(text)}));\n' for text in known)
    source = tmp_path / "all.cc"
    source.write_text(f"#include <algorithm>\n#include <cstdio>\nint main() {{\n{variables}{prints}}}\n")
    subprocess.run(["c++", "-w", "-std=c++17", str(source), "-o", str(tmp_path / "all")], check=True)
    said = subprocess.run([tmp_path / "all"], check=True, capture_output=True, text=True).stdout.split()
    assert dict(zip(known, map(int, said), strict=True)) == known


def _wide(text: str) -> str:
    return re.sub(r"\b(0x[0-9a-f]+|\d+)\b", r"\1LL", text)


PIECES = st.sampled_from([
    "k<<<", ">>>(x);", "1, 32", "{", "}", "(", ")", "<", ">", "#define A", "#if X\n", "#endif\n", "#else\n", "\n", " ",
    "A(1, 2)", "template <int N>", "struct S", "int t = 4;", "dim3 b(32, 8);", "b.x = 4;", "for (", ";", "if (n)",
    "else", "[&]", "::", "ns", "return", '"text', 'R"(', "/*", "*/", "//", "\\\n", "=", ",", "?", ":", "namespace",
    "__global__ void k(int n)", "enum", "auto [a, b]", "extern", "__attribute__((constant))", "operator", "case 1", "'",
    "0x", "1e", '#include "a"\n', "t", "b",
])  # fmt: skip
FOREIGN = st.sampled_from([
    "__attribute__((device, hot))", "__declspec(__shared__)", "extern __constant__ int t;",
    "#define D __attribute__((device))\n",
])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_no_source_does_anything_but_be_read(text: str) -> None:
    try:
        source = Source.of(text, "any.cu")
    except UnreadableDirective:
        return
    for launch in launches(source):
        for extent in resolve(source, launch, {"n": 4}):
            assert (extent.size is None) == bool(extent.why)


@given(st.text(max_size=80) | st.lists(PIECES, max_size=20).map("".join))
def test_tokens_are_pieces_of_the_text_in_order(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert text[token.start : token.end] == token.text
        assert token.start >= end
        assert token.line == text.count("\n", 0, token.start) + 1
        end = token.end


PARTS = ["a", "f(1, 2)", "{3, 4}", '","', "h[8, 9]", "x * 2"]


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6))
def test_a_macros_arguments_are_parted_at_their_own_commas(parts: list[str]) -> None:
    assert [spelled(part) for part in split(tokenize(", ".join(parts)))] == parts


@given(st.lists(st.sampled_from([*PARTS, "g<5, 6>(7)"]), min_size=1, max_size=6))
def test_an_expressions_arguments_are_parted_at_their_own_commas(parts: list[str]) -> None:
    assert arguments(", ".join(parts)) == parts


@settings(max_examples=200)
@given(st.lists(PIECES | FOREIGN, max_size=30).map("".join))
def test_made_fit_twice_is_made_fit_once(text: str) -> None:
    once, _ = standalone(text)
    again, changes = standalone(once)
    assert (again, changes) == (once, ())
