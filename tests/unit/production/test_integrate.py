"""The accepted kernel goes back into its file, and nothing else of the file changes."""

import pytest

from kpd.production.deploy.integrate import Integrated, NotIntegrated, integrate
from kpd.production.deploy.winner import sure_pct

FILE = """\
#include "kernels.h"
#define TILE 8

namespace imaging {
namespace {

// Blurs a row.
__global__ void blur(const float *in, float *out, int n) {
    int at = threadIdx.x;
    if (at >= n) return;
    out[at] = in[at] / 2;
}

__global__ void scale(float *out, int n) { out[threadIdx.x] *= n; }

}  // namespace

int run(int n) { return helper(n); }

}  // namespace imaging
"""
KERNEL = FILE[FILE.index("__global__ void blur") : FILE.index("__global__ void scale")]
TASK = f"""\
// ===== KERNEL SECTION =====
#define TILE 8
namespace imaging {{
namespace {{
{KERNEL}}}
}}
// ===== END KERNEL SECTION =====
// ===== HARNESS SECTION =====
int harness() {{ return 0; }}
// ===== END HARNESS SECTION =====
"""


def put_back(
    old: str, new: str, file: str = FILE, task: str = TASK, path: str = "gpu/blur.cu",
    context: dict[str, bytes] | None = None,
) -> str:  # fmt: skip
    assert old in task
    found = integrate(
        {path: file.encode(), "gpu/other.cu": b"int other;\n"}, "imaging::blur",
        {"blur.cu": task.encode()}, {"blur.cu": task.replace(old, new, 1).encode()}, context or {},
    )  # fmt: skip
    assert found.path == path
    return found.after.decode()


def refused(
    old: str, new: str, file: str = FILE, task: str = TASK, path: str = "gpu/blur.cu",
    context: dict[str, bytes] | None = None,
) -> tuple[str, str]:  # fmt: skip
    with pytest.raises(NotIntegrated) as caught:
        put_back(old, new, file, task, path, context)
    return caught.value.what, caught.value.name


def test_only_the_kernel_changes() -> None:
    assert put_back("/ 2", "* 0.5f") == FILE.replace("/ 2", "* 0.5f")


def test_a_form_feed_ends_no_line_of_the_diff_that_a_person_reads() -> None:
    before, after = "a; \f\n", "a; \f evil();\n"
    found = Integrated("k.cu", before.encode(), after.encode(), {}).diff
    assert found == "--- a/k.cu\n+++ b/k.cu\n@@ -1 +1 @@\n-a; \f\n+a; \f evil();\n"


def test_new_helpers_come_right_before_the_kernel_and_includes_after_those_of_the_file() -> None:
    new = "#include <cmath>\n#define HALF 0.5f\nstruct Pair { int a; };\n__device__ float half(float x) { return x; }\n"
    found = put_back("__global__ void blur", f"{new}__global__ void blur")
    assert found.startswith('#include "kernels.h"\n#include <cmath>\n#define TILE 8\n')
    before = found.index("// Blurs a row.")
    after = found.index("__global__ void blur")
    helpers = found[before:after]
    assert [one in helpers for one in ("#define HALF 0.5f\n", "struct Pair { int a; };\n", "float half(float x)")] == [
        True
    ] * 3
    assert found[after:] == FILE[FILE.index("__global__ void blur") :]


def test_a_macro_that_only_the_kernel_uses_is_replaced_in_its_place() -> None:
    used = [text.replace("/ 2", "/ TILE") for text in (FILE, TASK)]
    found = put_back("#define TILE 8", "#define TILE \\\n    16", *used)
    assert found == used[0].replace("#define TILE 8\n", "#define TILE \\\n    16\n")
    file, task = used
    elsewhere = file.replace("helper(n)", "helper(n / TILE)")
    included = file.replace("namespace imaging {", '#include "more.inl"\nnamespace imaging {', 1)
    other, twice = file.replace("TILE 8", "TILE 4"), file.replace("TILE 8", "TILE 8\n#undef TILE\n#define TILE 8")
    for text in (elsewhere, included, other, twice):
        assert refused("#define TILE 8", "#define TILE 16", text, task) == ("other_code", "TILE")
    for path, context in (("gpu/blur.cuh", {}), ("gpu/blur.cu", {"lib.rs": b"const TILE: u32 = 8;\n"})):
        assert refused("#define TILE 8", "#define TILE 16", file, task, path, context) == ("other_code", "TILE")


@pytest.mark.parametrize(
    ("old", "new", "what", "name"),
    [
        ("int n) {\n    int at", "long n) {\n    int at", "signature", "imaging::blur"),
        ("namespace {\n", "namespace other {\n", "no_kernel", "imaging::blur"),
        ("namespace {\n", "namespace {}\nnamespace imaging {\n", "signature", "imaging::blur"),
        (KERNEL[KERNEL.index("{") :], "{ }\n", "emptied", "imaging::blur"),
        ("int at = threadIdx.x;", "return;\n    int at = threadIdx.x;", "early_return", "imaging::blur"),
        ("    out[at]", "#if 0\n#endif\n    out[at]", "if_0", "imaging::blur"),
        ("__global__ void blur", "__global__ void more() { x(); }\n__global__ void blur", "other_kernel", "more"),
        ("#define TILE 8", "#define TILE 8\n#pragma GCC optimize(\"fast-math\")", "directive", "#pragma"),
        ("#define TILE 8", "#define TILE 16", "other_code", "TILE"),
        ("#define TILE 8", "#define TILE 8\nint helper(int n) { return n; }", "other_code", "helper"),
        ("#define TILE 8", "#define TILE 8\nint fresh(int n) { return n; }", "exported", "fresh"),
        ("#define TILE 8", "#define TILE 8\nint state;", "exported", "int state;"),
        ("#define TILE 8", '#define TILE 8\nextern "C" { static int c(int n) { return n; } }', "exported", "c"),
        ("#define TILE 8", '#define TILE 8\n#include "mine.h"', "directive", '#include "mine.h"'),
        ("#define TILE 8", "#define TILE 8\n#ifdef X\nint x;\n#endif", "unreadable", "#ifdef X"),
        ("int n) {\n    int at", "int n) {\n    int at = (; int at", "unreadable", "imaging::blur"),
        ("/ 2", "/ 2", "same", "imaging::blur"),
    ],
)  # fmt: skip
def test_what_changes_more_than_the_kernel_is_refused_by_name(old: str, new: str, what: str, name: str) -> None:
    found = refused(old, new)
    assert found[0] == what
    assert found[1].startswith(name)


def test_production_has_to_hold_the_kernel_that_the_run_began_with() -> None:
    assert refused("/ 2", "/ 4", FILE.replace("/ 2", "/ 3")) == ("not_the_baseline", "gpu/blur.cu")
    assert refused("/ 2", "/ 4", FILE.replace("blur", "smear")) == ("not_found", "imaging::blur")
    assert put_back("/ 2", "/ 4", FILE.replace("/ 2", "/  2 /* half */")).count("/ 4") == 1


def test_another_editable_file_may_not_change() -> None:
    with pytest.raises(NotIntegrated) as caught:
        integrate(
            {"a.cu": FILE.encode()}, "blur", {"a.cu": FILE.encode(), "b.h": b"1"},
            {"a.cu": FILE.replace("/ 2", "/ 4").encode(), "b.h": b"2"}, {},
        )  # fmt: skip
    assert (caught.value.what, caught.value.name) == ("other_file", "b.h")


def test_a_loop_in_c_that_others_link_to_keeps_its_linkage() -> None:
    source = "int twice(int x) { return x + x; }\nint other(int y) { return twice(y); }\n"

    files = {"k.cpp": source.encode()}

    def tried(new: str) -> str:
        return integrate(files, "twice", files, {"k.cpp": new.encode()}, {}).after.decode()

    assert tried(source.replace("x + x", "2 * x")) == source.replace("x + x", "2 * x")
    with pytest.raises(NotIntegrated, match="exported"):
        tried(f'extern "C" {{ {source.replace("x + x", "2 * x")} }}')
    with pytest.raises(NotIntegrated, match="signature"):
        tried(f"static {source.replace('x + x', '2 * x')}")


def test_a_helper_comes_before_the_linkage_that_the_kernel_alone_has() -> None:
    source = '#define N 1\n/* ours */\nextern "C" __global__ void k(int *x) { x[0] = x[0] / 2; }\n'
    helper = "template <int D> __device__ int half(int x) { return x / D; }\n"
    better = helper + source.replace("x[0] / 2", "half<2>(x[0])")
    found = integrate({"k.cu": source.encode()}, "k", {"k.cu": source.encode()}, {"k.cu": better.encode()}, {})
    assert found.after.decode() == source.replace("x[0] / 2", "half<2>(x[0])").replace("extern", f"{helper}\nextern")


def test_an_include_stays_behind_what_stands_at_the_top_of_a_file() -> None:
    def put(source: str) -> str:
        better = "#include <math.h>\n" + source.replace("x / 2", "x * 0.5")
        found = integrate({"k.c": source.encode()}, "k", {"k.c": source.encode()}, {"k.c": better.encode()}, {})
        return found.after.decode().replace("x * 0.5", "x / 2")

    top, code = "/* licence */\n#define _GNU_SOURCE\n", "double k(double x) { return x / 2; }\n"
    assert put(top + code) == f"{top}#include <math.h>\n{code}"
    assert put(f"{top}#include <a.h>\nint y;\n{code}") == f"{top}#include <a.h>\n#include <math.h>\nint y;\n{code}"
    guarded = f"{top}#ifdef A\n#include <a.h>\n#endif\nint y;\n"
    assert (
        put(guarded + code)
        == f"{guarded.removesuffix(chr(10) + 'int y;' + chr(10))}\n#include <math.h>\nint y;\n{code}"
    )


def test_gains_one_after_the_other_multiply() -> None:
    assert sure_pct([10.0]) == pytest.approx(10.0)
    assert sure_pct([50.0, 50.0]) == pytest.approx(75.0)
    assert sure_pct([10.0, -1.0]) == pytest.approx(100 * (1 - 0.9 * 1.01))
