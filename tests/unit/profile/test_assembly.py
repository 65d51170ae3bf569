"""What real compilers wrote for small kernels, and what kpd reads from it."""

import pytest

from kpd.measure.objects.loops import Steps, find
from kpd.profile import assembly
from kpd.profile.isa import Instruction, arch_of, instruction
from tests.places import DATA

PROFILES = DATA / "profile"


def listing(name: str) -> str:
    return (PROFILES / name).read_text()


def hot_of(name: str) -> tuple[str, int]:
    text = listing(name)
    arch = arch_of(text)
    assert arch is not None
    found = assembly.hot(assembly.loops(text, arch))
    assert found is not None
    return found.function, found.depth


@pytest.mark.parametrize(
    ("name", "bits"), [("axpy_gcc_avx2.s", 256), ("axpy_clang_x86.s", 256), ("axpy_clang_macos.s", 128)]
)
def test_a_vectorised_loop(name: str, bits: int) -> None:
    metrics, missing = assembly.read(listing(name))
    assert missing == {}
    assert metrics["hot_vector_bits"] == bits
    assert metrics["hot_vector_pct"] == 100
    assert (metrics["hot_vector_fp"], metrics["hot_scalar_fp"], metrics["hot_calls"]) == (1, 0, 0)


@pytest.mark.parametrize(("name", "stack"), [("norm_gcc_x86.s", 2), ("norm_clang_arm64.s", 0)])
def test_a_scalar_loop_with_a_call_and_a_division_goes_before_a_plain_one(name: str, stack: int) -> None:
    metrics, _ = assembly.read(listing(name))
    assert hot_of(name) == ("gate", 1)
    assert (metrics["hot_calls"], metrics["hot_divisions"], metrics["hot_stack"]) == (1, 1, stack)
    assert (metrics["hot_vector_fp"], metrics["hot_scalar_fp"]) == (0, 4)
    assert metrics["hot_vector_pct"] == metrics["hot_vector_bits"] == 0


def test_a_nest_without_arithmetic() -> None:
    metrics, missing = assembly.read(listing("turn_gcc_x86.s"))
    assert hot_of("turn_gcc_x86.s") == ("turn", 2)
    assert metrics["hot_instructions"] == 6
    assert set(missing) == {"hot_vector_pct"}


def test_nothing_to_read_is_missing_with_a_reason() -> None:
    for text, reason in (
        ("", "no assembly"),
        ("MOV R1, c[0x0]", "cannot read"),
        ("\tmovq %rdi, %rax\n\tret\n", "no loop"),
    ):
        metrics, missing = assembly.read(text)
        assert metrics == {}
        assert set(missing) == set(assembly.NAMES)
        assert all(reason in why for why in missing.values())


def test_rare_code_that_is_moved_behind_the_loop_makes_no_loop_of_its_own() -> None:
    lines = (".L3:", "addss %xmm0, %xmm1", "ja .L9", ".L4:", "jne .L3", "ret", ".L9:", "mulss %xmm1, %xmm1", "jmp .L4")
    parsed = [line[:-1] if line.endswith(":") else instruction("x86-64", line, False) for line in lines]
    (loop,) = find("f", [line for line in parsed if line is not None], Steps())
    assert (loop.label, loop.depth) == (".L3", 1)
    assert [one.fp for one in loop.body if one.fp] == ["scalar", "scalar"]


def test_a_jump_into_the_middle_is_no_natural_loop() -> None:
    lines = ("jmp .L5", ".L3:", "addss %xmm0, %xmm1", ".L5:", "cmpl %eax, %ebx", "jne .L3", "ret")
    parsed = [line[:-1] if line.endswith(":") else instruction("x86-64", line, False) for line in lines]
    loops = list(find("f", [line for line in parsed if line is not None], Steps()))
    assert [(loop.label, len(loop.body)) for loop in loops] == [(".L5", 3)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vfmadd231ps (%rsi,%rax), %zmm0, %zmm1", {"fp": "packed", "bits": 512}),
        ("vfnmadd213sd %xmm1, %xmm2, %xmm3", {"fp": "scalar", "bits": 0}),
        ("sqrtss %xmm1, %xmm1", {"fp": "scalar", "division": True}),
        ("idivl %ecx", {"fp": "", "division": True}),
        ("movaps %xmm1, %xmm4", {"bits": 0}),
        ("movups (%rsi,%rax), %xmm0", {"bits": 128, "stack": False}),
        ("movss 8(%rsp), %xmm1", {"stack": True, "bits": 0}),
        ("vmovaps %ymm3, 32(%rsp)", {"stack": True}),
        ("movss (%rsp,%rax,4), %xmm1", {"stack": False}),
        ("leaq 8(%rsp), %rdi", {"stack": False}),
        ("xorps .LC3(%rip), %xmm4", {"bits": 0, "fp": ""}),
        ("vgatherdps %ymm2, (%rax,%ymm1,4), %ymm0", {"element_load": True}),
        ("vinsertps $16, (%rdx), %xmm0, %xmm0", {"element_load": True}),
        ("call expf@PLT", {"call": True}),
        ("jmp *%rax", {"leaves": True}),
        ("rep stosq", {"call": False, "fp": ""}),
    ],
)
def test_x86_instructions(line: str, expected: dict[str, object]) -> None:
    found = instruction("x86-64", f"\t{line}  # note", frame=False)
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fmla v0.4s, v1.4s, v2.4s", {"fp": "packed", "bits": 128}),
        ("fmla.4s v0, v1, v2", {"fp": "packed", "bits": 128}),
        ("fmadd s0, s1, s2, s3", {"fp": "scalar", "bits": 0}),
        ("fadd z0.s, p0/m, z0.s, z1.s", {"fp": "packed", "bits": 128}),
        ("fdiv s0, s1, s2", {"fp": "scalar", "division": True}),
        ("ldp q1, q2, [x8, #-16]", {"bits": 128, "stack": False}),
        ("ldr s0, [x8], #4", {"bits": 0}),
        ("str x8, [sp, #40]", {"stack": True}),
        ("ldr q3, [sp, #64]", {"stack": True, "bits": 0}),
        ("ldr s0, [sp, x3, lsl #2]", {"stack": False}),
        ("ld1 { v0.s }[1], [x8]", {"element_load": True, "bits": 0}),
        ("ld1w { z0.s }, p0/z, [x0, z1.s, uxtw #2]", {"element_load": True}),
        ("bl _expf", {"call": True}),
        ("b.lt LBB0_2", {"target": "LBB0_2", "leaves": False}),
        ("tbnz w8, #0, .LBB0_7", {"target": ".LBB0_7"}),
        ("b .LBB0_4", {"target": ".LBB0_4", "leaves": True}),
        ("ret", {"leaves": True}),
    ],
)
def test_arm64_instructions(line: str, expected: dict[str, object]) -> None:
    found = instruction("arm64", f"\t{line}", frame=False)
    assert {name: getattr(found, name) for name in expected} == expected


def test_a_line_of_blanks_and_one_of_brackets_are_read_at_once() -> None:
    """A pattern that begins anew at every character takes the square of their number."""
    many = 300_000
    assert instruction("x86-64", "ret" + " " * many + "x", False) == Instruction(leaves=True)
    assert instruction("arm64", "ldr q0, " + "[" * many, False) is not None
    assert arch_of("\n" * many) is None


def test_the_loops_of_code_that_is_tangled_are_not_looked_for() -> None:
    """In a text of many functions as in one: what it takes is limited for all of them together."""
    heads = "".join(f".L{at}:\n\tnop\n" for at in range(200))
    tails = "".join(f"\tjne .L{at}\n" for at in reversed(range(200)))
    functions = [f"f{number}:\n\taddl %eax, %eax\n{heads}{tails}\tret\n" for number in range(40)]
    assert assembly.read(functions[0])[0]["hot_instructions"] == 2
    assert set(assembly.read("".join(functions))[1].values()) == {"to find the loops of the code takes too long"}
