"""What a kernel takes and needs, read off its source."""

from kpd.source.kernels import dependencies, kernels
from kpd.source.source import Source


def test_a_signature_is_read_whole() -> None:
    text = """
constexpr int kBlock = 64;
namespace a { namespace {
template <typename T, int N = 4, class F>
__global__ static void __launch_bounds__(kBlock * 2, MIN_BLOCKS)
kernel(const T *__restrict__ in, float (&out)[N], unsigned long long count, struct Pair<int, T> pair, F f = F(), int) {}
} }
extern "C" __global__ void empty(void) {}
__global__ void declared(int n);
extern "C" { namespace b { __global__ void linked(int n) {} } }
"""
    one, other, last = kernels(Source.of(text, "k.cu"))
    assert (one.name, one.qualified, one.namespaces, one.c_linkage) == ("kernel", "a::kernel", ("a", ""), False)
    assert [(argument.type, argument.name) for argument in one.parameters] == [
        ("const T *__restrict__", "in"), ("float (&)[N]", "out"), ("unsigned long long", "count"),
        ("struct Pair<int, T>", "pair"), ("F", "f"), ("int", ""),
    ]  # fmt: skip
    assert [(argument.type, argument.name) for argument in one.template] == [
        ("typename", "T"),
        ("int", "N"),
        ("class", "F"),
    ]
    assert [(bound.text, bound.value) for bound in one.bounds] == [("kBlock * 2", 128), ("MIN_BLOCKS", None)]
    assert one.bounds[1].why == "nothing here says what MIN_BLOCKS is"
    assert (other.name, other.parameters, other.c_linkage) == ("empty", (), True)
    assert (last.qualified, last.c_linkage) == ("b::linked", True)


def test_what_a_kernel_needs_is_found_through_others() -> None:
    text = """
#define SIDE (2 * HALF)
#define HALF 8
enum Kind { ROW, COLUMN };
struct Inner { int a; };
struct Outer { Inner inner; };
using Alias = Outer;
struct Unused { int b; };
constexpr int kStep = SIDE;
__constant__ float weights[4];
__device__ int helper(Alias x) { return x.inner.a + kStep; }
__global__ void k(Alias x) { weights[helper(x)] == ROW; }
"""
    source = Source.of(text)
    [kernel] = kernels(source)
    assert [(one.kind, one.name) for one in dependencies(source, kernel)] == [
        ("constant", "COLUMN"), ("constant", "ROW"), ("constant", "kStep"), ("enum", "Kind"), ("function", "helper"),
        ("macro", "HALF"), ("macro", "SIDE"),
        ("struct", "Inner"), ("struct", "Outer"), ("type", "Alias"), ("variable", "weights"),
    ]  # fmt: skip
