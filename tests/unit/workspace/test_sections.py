"""Files in two sections: only the kernel section is ever taken from a candidate."""

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.sections import ProtectedSection, SectionError, has_block, marked, splice, split

FILE = b"""\
#include <stdint.h>
// ===== KERNEL SECTION (modify this section to optimize) =====
__global__ void k(float *x) { x[0] = 1; }
// ===== END KERNEL SECTION =====

// ===== HARNESS SECTION (do not modify) =====
int main() { return 0; }
// ===== END HARNESS SECTION =====
"""
KERNEL = b"__global__ void k(float *x) { x[0] = 1; }\n"
OTHER = b"__global__ void k(float *x) { x[0] = 2; }\n"
TEXTS = st.lists(st.sampled_from([b"int a;", b"", b"  // KERNEL SECTION", b"==== SECTION", b"x\\", b"\xff\x00"])).map(
    lambda lines: b"".join(line + b"\n" for line in lines)
)


def test_the_sections_of_a_file() -> None:
    found = split(FILE)
    assert (found.kernel, found.whole) == (KERNEL, FILE)
    assert found.before.endswith(b"(modify this section to optimize) =====\n")
    assert found.after.startswith(b"// ===== END KERNEL SECTION")
    assert marked(FILE)
    assert not marked(KERNEL + b"// the KERNEL SECTION is above\n// == KERNEL SECTION ==\n")


@given(TEXTS)
def test_only_the_kernel_is_taken_from_a_candidate(kernel: bytes) -> None:
    wanted = FILE.replace(KERNEL, kernel)
    for proposed in (wanted, wanted.replace(b"\n", b"\r\n") if b"\r" not in kernel else wanted, kernel):
        spliced = splice(split(FILE), proposed)
        assert spliced.whole.replace(b"\r\n", b"\n") == wanted
        assert (spliced.before, spliced.after) == (split(FILE).before, split(FILE).after)
        assert split(spliced.whole) == spliced


def test_a_kernel_section_alone_will_do() -> None:
    alone = b"\n//===  KERNEL SECTION: faster ===\r\n" + OTHER + b"  // ===== END KERNEL SECTION\n\n"
    assert splice(split(FILE), alone).whole == FILE.replace(KERNEL, OTHER)
    with pytest.raises(SectionError, match="more than the kernel section"):
        splice(split(FILE), alone + b"int main() { return 1; }\n")


def test_a_text_without_an_end_of_line_gets_one() -> None:
    assert splice(split(FILE), OTHER.rstrip()).whole == FILE.replace(KERNEL, OTHER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"return 0;", b"return 1;"),
        (b"int main() { return 0; }\n", b""),
        (b"#include <stdint.h>\n", b""),
        (b"#include <stdint.h>\n", b"#include <stdint.h>\n#define float double\n"),
        (b"// ===== END HARNESS SECTION =====\n", b"// ===== END HARNESS SECTION =====\nint more;\n"),
        (b"int main()", b"  int main()"),
    ],
)
def test_a_change_anywhere_else_is_refused(old: bytes, new: bytes) -> None:
    with pytest.raises(ProtectedSection):
        splice(split(FILE), FILE.replace(old, new).replace(KERNEL, OTHER))


def test_blanks_and_the_words_of_a_mark_may_differ() -> None:
    changed = b"\n\n" + FILE.replace(b"(do not modify) =====", b"=====  ").replace(b"return 0; }", b"return 0; }  ")
    assert splice(split(FILE), changed.replace(KERNEL, OTHER)).whole == FILE.replace(KERNEL, OTHER)


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (KERNEL, 1, "no line '// ===== KERNEL SECTION ====='"),
        (FILE.replace(b"===== END KERNEL", b"===== KERNEL"), 4, "'KERNEL SECTION' where 'END KERNEL SECTION'"),
        (FILE.replace(b"// ===== END HARNESS SECTION =====\n", b""), 7, "no line '// ===== END HARNESS SECTION"),
        (FILE + FILE, 10, "'KERNEL SECTION' where no more marks should be"),
        (FILE.replace(b"KERNEL", b"WHAT").replace(b"HARNESS", b"KERNEL"), 8, "no line '// ===== HARNESS SECTION"),
    ],
)
def test_marks_that_are_not_in_order_are_refused(file: bytes, line: int, said: str) -> None:
    with pytest.raises(SectionError, match=said) as caught:
        split(file)
    assert caught.value.line == line


def test_a_candidate_with_marks_in_disorder_is_refused() -> None:
    with pytest.raises(SectionError, match="'KERNEL SECTION' where 'END KERNEL SECTION'"):
        splice(split(FILE), b"// ===== KERNEL SECTION =====\n" + FILE)


BLOCK = b"""\
import random
# EVOLVE-BLOCK-START
def search():
    return 1
# EVOLVE-BLOCK-END


def run():
    return search()
"""
INNER = b"def search():\n    return 1\n"
BETTER = b"import math\n\n\ndef search():\n    return math.pi\n"


@pytest.mark.parametrize(
    "proposed",
    [
        BLOCK.replace(INNER, BETTER), BETTER, b"# EVOLVE-BLOCK-START\n" + BETTER + b"# EVOLVE-BLOCK-END\n",
        BLOCK.replace(INNER, BETTER).replace(b"-START", b"-START: search").replace(b"search()\n", b"search()  \n", 2),
    ],
)  # fmt: skip
def test_only_what_is_in_the_block_is_taken(proposed: bytes) -> None:
    assert has_block(BLOCK) and split(BLOCK).kernel == INNER
    assert splice(split(BLOCK), proposed).whole.replace(b"search():  \n", b"search():\n") == BLOCK.replace(
        INNER, BETTER
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"import random\n", b""), (b"def run():", b"def run(a=1):"), (b"\n\ndef run", b"\nx = 1\ndef run")],
)
def test_what_is_around_a_block_is_protected(old: bytes, new: bytes) -> None:
    with pytest.raises(ProtectedSection):
        splice(split(BLOCK), BLOCK.replace(old, new))


@pytest.mark.parametrize(
    "odd", [BLOCK + BLOCK, BLOCK.replace(b"-START", b"-END"), BLOCK.replace(b"# EVOLVE-BLOCK-END\n", b""), FILE + BLOCK]
)
def test_what_has_not_one_block_is_no_file_in_sections(odd: bytes) -> None:
    assert not has_block(odd)
    with pytest.raises(SectionError):
        split(odd)
