"""Functions, code and literals of C and CUDA text, and of text that is neither whole nor right."""

import pytest
from hypothesis import given, strategies as st

from kpd.source.functions import MOST, MOST_CHARACTERS, functions, readings
from kpd.source.text import code, parts


def test_functions_are_found_where_they_are() -> None:
    text = """\
namespace a { namespace { __device__ int h(int) { return 1; } } inline namespace b { void g(); } }
template <int N = 4, class T = vec<float>> __global__ void ALIGN(16) scale(T *x, int n = (3)) noexcept { }
struct S : B<int> { S(int a) : a(a) { work(); } void f() const; int v = call(3); };
extern "C" { void entry(const float *x /* { */, int n); }
static auto lambda = [](int x) { return x; };
#define MACRO(x) void made_by_macro(int x) { }
typedef void (*pointer)(int);
int array[] = { f(1), g(2) };
auto trailing(int x) -> int { if (x) { } return "}"[0]; }
"""
    found = [(each.line, "::".join((*each.scope, each.name)), each.defined) for each in functions("k.cu", text)]
    assert found == [
        (1, "a::::h", True), (1, "a::b::g", False), (2, "scale", True), (3, "S::S", True), (3, "S::f", False),
        (4, "entry", False), (9, "trailing", True),
    ]  # fmt: skip
    assert [each.name for each in functions("k.cu", text) if each.empty] == ["scale"]


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("void f(const float *in)", "void f(float const *__restrict__ x)", "void f(float *in)"),
        ("void f(unsigned long n)", "static inline void f(const long unsigned int)", "void f(long n)"),
        ("void f(float x[4])", "void f(float *x)", "void f(float x)"),
        ("void f(std::size_t n)", "void f(std :: size_t)", "void f(size_t n)"),
        ("void f(vec<4> v, int n)", "void f(vec<4>, int m = g(3, 4))", "void f(vec<8> v, int n)"),
        ("void f(void (*g)(int))", "void f(void (*h)(int))", "void f(void (*g)(long))"),
        ("void f(struct s t)", "void f(s)", "void f(s *t)"),
        ("int f(void)", "int f()", "int f(int)"),
        ("const float *f(int a, int)", "float const * f(int, int b)", "float *f(int a, int)"),
    ],
)
def test_types_are_compared_without_names(one: str, same: str, other: str) -> None:
    first, second, third = (functions("k.cu", head + " { work(); }")[0].type for head in (one, same, other))
    assert first == second
    assert first != third


PIECES = st.lists(
    st.sampled_from([
        "{", "}", "(", ")", ";", "<", ">", ",", "=", "\n#if X\n", "\n#else\n", "\n#endif\n", "template <",
        "namespace a ", "struct s ", "void f", "int n", "operator", '"', "'", "/*", "*/", "//", "\n", "\\\n", 'R"(',
        ")\"", "1'0", "::", "=0", "extern", "def f(", "class", ":", "    ", '"""', "#", "return", "~",
    ]),
    max_size=60,
).map("".join)  # fmt: skip


@given(PIECES)
def test_any_text_is_looked_through(text: str) -> None:
    for path in ("k.cu", "k.py", "k.json"):
        assert "".join(part for _, part in parts(path, text)) == text
        assert [len(line) for line in code(path, text).split("\n")] == [len(line) for line in text.split("\n")]
    for each in functions("k.cu", text):
        assert 1 <= each.line <= text.count("\n") + 1


@given(PIECES)
def test_each_reading_of_a_text_is_as_long_and_has_its_lines(text: str) -> None:
    for reading in readings(text):
        assert [len(line) for line in reading.split("\n")] == [len(line) for line in text.split("\n")]


def test_every_branch_is_in_one_reading() -> None:
    text = """\
#if A
int a();
#if B
int b();
#elif C
int c();
#else
int d();
#endif
#else
int e();
#ifdef D
int f();
#endif
#endif
int g();
"""
    assert [each.name for each in functions("k.cu", text)] == list("abcdefg")
    assert all(reading.count("();") in (3, 4) for reading in readings(text))


def test_a_text_of_many_branches_has_few_readings_when_it_is_large() -> None:
    branches = "#if A\n" + "#elif B\n" * 30
    assert len(list(readings(f"{branches}#endif\n"))) == MOST
    assert len(list(readings(f"{branches}#endif\n{' ' * (MOST_CHARACTERS // 4)}"))) == 4


BROKEN = {
    "a brace too many": ("void first() {{ work(); }\nvoid second(float *x) { more(); }\n", ["first", "second"]),
    "a macro without a semicolon": ("INSTANTIATE(float)\nvoid first(float *x) { work(); }\n", ["first"]),
    "an attribute that no grammar knows": ("__global__ void __cluster_dims__(2, 1, 1) first() { work(); }", ["first"]),
    "a word of another compiler": ("static FORCED inline float first(int n) { return n; }", ["first"]),
    "an end that is missing": ("void first() { work(); }\nvoid second() { if (x) {", ["first", "second"]),
}


@pytest.mark.parametrize(("text", "names"), BROKEN.values(), ids=BROKEN)
def test_functions_are_found_in_what_does_not_compile(text: str, names: list[str]) -> None:
    assert [each.name for each in functions("k.cu", text) if each.defined] == names
    assert not any(each.empty for each in functions("k.cu", text))


def test_types_of_half_precision_are_types() -> None:
    one, other = functions("k.cu", "void f(__half x) { work(); }\nvoid f(__half2 x) { work(); }\n")
    assert one.type != other.type
    assert one.type is not None
    assert one.type.parameters == ("__half",)
