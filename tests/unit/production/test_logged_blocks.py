"""Lines that log launches are taken as whole blocks, and nothing else of an answer is."""

import re

import pytest

from kpd.production.deploy.fixing import fenced
from kpd.production.logged.blocks import BEGIN, END, MOST_LINES, NotTaken, instrumented

FILE = """\
#include <cstdint>
// \u00fcber \xa0 comments
__device__ int twice(int x) { return 2 * x; }

__global__ void scale(float *out, int n, float by) {
    int at = threadIdx.x;
    if (at < n) out[at] *= by;
}

void run(float *out, int n) {
    if (n > 4)
        scale<<<1, n>>>(out, n, 2.0f);
    scale<<<2, n>>>(out, n, 3.0f);
}
"""
TOP = f"""{BEGIN}
#include <cstdio>
#include <cstdlib>
static void kpd_log(int grid, int n, float by) {{
    const char *path = getenv("KPD_OBSERVE_LOG"); // }} is text
    FILE *file = path ? fopen(path, "a") : nullptr;
    if (file) {{
        fprintf(file,
                "{{\\"grid\\":[%d,1,1],\\"block\\":[%d,1,1],\\"scalars\\":{{\\"n\\":%d,\\"by\\":%.9g}}}}\\n",
                grid, n, n, by);
        fclose(file);
    }}
}}
{END}
"""
CALL = f"    {BEGIN}\n    kpd_log(2, n, 3.0f);\n    {END}\n"
SECOND = "    scale<<<2, n>>>"
GOOD = FILE.replace("__device__", f"{TOP}__device__", 1).replace(SECOND, CALL + SECOND)


def taken(text: str, original: str = FILE) -> dict[str, bytes]:
    return instrumented({"src/k.cu": original.encode()}, "scale", fenced(text, "cuda src/k.cu"))


def test_the_file_is_its_own_bytes_and_the_blocks_between_them() -> None:
    for original in (FILE, FILE.replace("\n", "\r\n"), FILE + "\n\n", FILE.rstrip("\n")):
        made = taken(GOOD, original)["src/k.cu"].decode()
        blocks = re.compile(rf"[ \t]*{BEGIN}\r?\n[\s\S]*?{END}\r?\n")
        assert blocks.sub("", made) == original
        assert len(blocks.findall(made)) == 2
    latin = FILE.encode("latin-1")
    shown = GOOD.encode("latin-1").decode(errors="replace")
    made_bytes = instrumented({"src/k.cu": latin}, "scale", fenced(shown))["src/k.cu"]
    assert b"// \xfcber \xa0 comments\n" in made_bytes


def block(*lines: str) -> str:
    return "".join(f"{line}\n" for line in (BEGIN, *lines, END))


LATER = f"{SECOND}(out, n, 3.0f);\n"
REFUSED = [
    (FILE, "nothing of it reads the environment variable"),
    (GOOD.replace("2 * x", "x + x"), "is not in the file, and in no block"),
    (GOOD.replace("    int at = threadIdx.x;\n", ""), "is not in the file, and in no block"),
    (GOOD.partition("__global__")[0], "ends before line 5"),
    (GOOD + "int more;\n", "is not in the file, and in no block"),
    (GOOD.replace(f"    {END}\n", ""), "has no // KPD LOG END"),
    (GOOD.replace("    int at =", block("kpd_log(1, n, by);") + "    int at ="), "code that runs on the GPU"),
    (GOOD.replace("        scale", block("kpd_log(1, n, 2.0f);") + "        scale"), "middle of a statement"),
    (GOOD.replace(CALL, block("/* on the way")), "a comment or a literal of a block goes on"),
    (GOOD.replace(CALL, block('auto text = R"(; ')), "a comment or a literal of a block goes on"),
    (GOOD.replace(CALL, block("// \\")), "end with a backslash"),
    (GOOD.replace(CALL, block("if (n < 0)")), "whole statements"),
    (GOOD.replace(CALL, block("if (n < 0) {")), "whole statements"),
    (GOOD.replace(CALL, block("} if (n < 0) {")), "whole statements"),
    (GOOD.replace(CALL, block("return;")), "may not have 'return'"),
    (GOOD.replace(CALL, block("if (n > 9) { std::exit(0); }")), "may not have 'exit'"),
    (GOOD.replace(CALL, block("scale<<<1, 1>>>(out, n, 0.0f);")), "may not have '<<<'"),
    (GOOD.replace(CALL, block("#if 0", "kpd_log(1, 1, 1);")), "of directives"),
    (GOOD.replace(CALL, block("#define n 1")), "of directives"),
    (GOOD.replace(CALL, block('#include "other.h"')), "of directives"),
    (GOOD.replace(CALL, block("kpd_log(1, n, 2.0f); // \u202e")), "plain text"),
    (GOOD.replace(CALL, block(*["kpd_log(1, n, 2.0f);"] * MOST_LINES)), f"more than {MOST_LINES} lines"),
    (GOOD.replace(LATER, LATER + block("else kpd_log(1, n, 1.0f);")), "go on with a statement"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_could_change_more_than_the_log_is_refused(text: str, why: str) -> None:
    with pytest.raises(NotTaken) as caught:
        taken(text)
    assert why in str(caught.value)


def test_a_fence_names_one_of_the_files() -> None:
    files = {"src/k.cu": FILE.encode(), "src/other.cu": b"int other;\n"}
    assert set(instrumented(files, "scale", fenced(GOOD, "cuda src/k.cu"))) == {"src/k.cu"}
    both = fenced(GOOD, "cuda src/k.cu") + "\n" + fenced("int other;", "src/other.cu")
    assert set(instrumented(files, "scale", both)) == {"src/k.cu"}
    for answer, why in (
        (fenced(GOOD, "cuda"), "followed by the path"),
        (fenced(GOOD, "cuda src/main.cu"), "followed by the path"),
        (fenced(GOOD, "cuda /etc/k.cu src/k.cu"), "followed by the path"),
        (both + "\n" + both, "given twice"),
        ("no block", "no fenced block"),
        ("```cuda src/k.cu\nint x;", "never closed"),
    ):
        with pytest.raises(NotTaken, match=why):
            instrumented(files, "scale", answer)
    with pytest.raises(NotTaken, match="no file of C"):
        instrumented({"src/main.rs": b"fn main() {}\n"}, "scale", fenced("fn main() {}"))
