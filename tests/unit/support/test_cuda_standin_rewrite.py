"""CUDA's syntax turned into C++, as text."""

import re

import pytest
from hypothesis import given, strategies as st

from tests.support.cuda_standin.rewrite import RewriteError, rewrite
from tests.support.cuda_standin.tokens import parts, tokenize


def launch(name: str, address: str, shape: str, args: str) -> str:
    call = f"[&](auto ...kpd_a) {{ return [=] {{ {name}(kpd_a...); }}; }}"
    return f'::kpd_standin::launch("{name}", {address}, ::kpd_standin::shape({shape}), {call}({args}))'


LAUNCHES = {
    "k<<<1, 2>>>(a);": ("k", "1, 2", "a", ";"),
    "::n::k<<<g, b, s, t>>>();": ("::n::k", "g, b, s, t", "", ";"),
    "k<int, (3 > 2)><<<f(1, 2), dim3{3}>>>(x[i<2>(1)], \")>>>(\");": (
        "k<int, (3 > 2)>", "f(1, 2), dim3{3}", "x[i<2>(1)], \")>>>(\"", ";",
    ),
    "k<v<w<1>>><<<n >> 2, c<d<1>>::e>>>(a);": ("k<v<w<1>>>", "n >> 2, c<d<1>>::e", "a", ";"),
    "(*table[i])<<<1, 1>>>(a)": ("(*table[i])", "1, 1", "a", ""),
    "table[i]<<<1, 1>>>(a)": ("table[i]", "1, 1", "a", ""),
    "s.k<<<1, 1>>>(a)": ("s.k", "1, 1", "a", ""),
    "(this->k)<<<1, 1>>>(a)": ("(this->k)", "1, 1", "a", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", LAUNCHES)
@pytest.mark.parametrize("before", ["", "if (x) ", "else ", "{ ", "return ", "a = b > c; "])
def test_a_launch(text: str, before: str) -> None:
    name, shape, args, after = LAUNCHES[text]
    assert rewrite(before + text) == before + launch(name, f"::kpd_standin::address({name})", shape, args) + after


def test_the_address_of_a_template_is_not_taken() -> None:
    text = "template <class T> __global__ void __launch_bounds__(2 * (3)) k(T x) {}\nvoid f() { k<<<1, 1>>>(2); }"
    assert rewrite(text).endswith("void f() { " + launch("k", "nullptr", "1, 1", "2") + "; }")
    assert "__launch_bounds__" not in rewrite(text)


def test_lines_keep_their_numbers() -> None:
    text = "void f() {\n k<\n  1>\n <<<\n 1, 2\n >>>\n (\n a,\n b);\n here();\n}"
    assert rewrite(text).splitlines()[9] == " here();"
    shared = "{ extern\n __shared__\n float\n x[]; \n}\nhere"
    assert rewrite(shared).splitlines()[5] == "here"


FRESH = r" static unsigned long long \w+; .*\(void \*\)&x, sizeof x\);"
SHARED = {
    "__shared__ float x[4];": r"static \s*float x\[4\];" + FRESH,
    "static __shared__ T<a, b> x, y[2][N + 1];": r"static \s*T<a, b> x, y\[2\]\[N \+ 1\];"
    + FRESH
    + ".*&y, sizeof y.*;",
    "extern __shared__ float x[];": r"\[\[maybe_unused\]\] float \*const x = reinterpret_cast<float \*>\(.*\);",
    "extern __shared__ alignas(16) char x[];": r".*\] char \*const x = reinterpret_cast<char \*>\(.*\);",
    "__shared__ extern int x[][3];": r".*\] int \(\*const x\)\[3\] = reinterpret_cast<int \(\*\)\[3\]>\(.*\);",
}


@pytest.mark.parametrize("text", SHARED)
def test_shared_memory(text: str) -> None:
    assert re.fullmatch(r"if \(a\) \{ b\(\); " + SHARED[text] + r" \}", rewrite(f"if (a) {{ b(); {text} }}"))


def test_a_macro_of_a_system_header_does_not_hide_the_users_text() -> None:
    own = '# 1 "k.cu"\nk<<<1, 1>>>(\n# 1 "k.cu" 3 4\n__null\n# 1 "k.cu"\n);\n'
    text = own + '# 1 "sys.h" 1 3\nx<<<y;\n# 2 "k.cu" 2\nend;\n'
    assert [system for system, _ in parts(text)] == [False, True, False]
    assert '# 1 "k.cu" 3 4\nnullptr\n# 1 "k.cu"\n));\n' in rewrite(text)
    assert "x<<<y;" in rewrite(text)


@pytest.mark.parametrize("text", ["k<<<1, 2;", "k<<<1, 2>>>;", "3<<<1, 2>>>(a);", "__shared__ int x = 3;"])
def test_what_does_not_read_as_cuda_is_an_error(text: str) -> None:
    with pytest.raises(RewriteError):
        rewrite(text)


def test_strings_and_operators_are_left_alone() -> None:
    strings = r"""const char *a = "k<<<1>>>(2) \" __shared__", *b = R"x(k<<<1>>>()")x"; char c = '"';"""
    assert rewrite(strings) == strings
    assert rewrite("int d = 1 << 2 >> 3, e = 1'000'000;") == "int d = 1 << 2 >> 3, e = 1'000'000;"


@given(st.text(alphabet="abz_09 \n\t<>()[]{}:;,.'\"#\\-+=eR/*"))
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(token.text for token in tokenize(text)) == text
    assert "".join(part for _, part in parts(text)) == text
