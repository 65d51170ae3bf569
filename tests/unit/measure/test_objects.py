"""What an object may look up, and the clocks in a listing of a GPU's code."""

import pytest

from kpd.measure.objects import allowed
from kpd.measure.objects.inspect import LONGEST_FLAG, MOST_FLAGS, told
from kpd.measure.objects.instructions import of_cpu
from kpd.measure.objects.sass import of_gpu
from kpd.model.flags import Calls, Executes, Flag, NotInspected
from kpd.text import flags as text

LISTING = """
        /*0010*/                   ULDC.64 UR4, c[0x0][0x208] ;         /* 0x0000820000047ab9 */
        /*0020*/                   CS2R R4, SR_CLOCKLO ;                /* 0x0000000000047805 */
        /*0030*/                   S2R R3, SR_TID.X ;                   /* 0x0000000000037919 */
        /*0070*/                   CS2R R6, SR_GLOBALTIMERLO ;          /* 0x0000000000067805 */
        /*00d0*/                   S2UR UR6, SR_CLOCKHI ;               /* 0x00000000000679c3 */
"""


def test_clocks_of_a_gpu_are_flagged_and_its_other_registers_not() -> None:
    """The lines are those of cuobjdump 13 for clock64(), threadIdx, %globaltimer and %clock_hi on sm_90."""
    assert of_gpu(LISTING) == tuple(
        Executes(f"read of {clock}", "clock") for clock in ("SR_CLOCKLO", "SR_GLOBALTIMERLO", "SR_CLOCKHI")
    )


@pytest.mark.parametrize(
    ("constants", "may"),
    [
        (b"\0cuTensorMapEncodeTiled\0", True),
        (b"cannot encode\0cuTensorMapEncodeIm2col\0cuTensorMapEncodeTiled\0", True),
        (b"", False),
        (b"cuTensorMapEncodeTiled\0cuLaunchHostFunc\0", False),
        (b"cuTensorMapEncodeTiledAndMore\0", False),
    ],
)
def test_a_function_of_the_driver_may_be_looked_up_to_make_tensor_maps(constants: bytes, may: bool) -> None:
    for symbol in ("cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion"):
        assert allowed.CUDA.looks_up(symbol, constants) is may
        assert not allowed.C.looks_up(symbol, constants)
    assert not allowed.CUDA.looks_up("dlsym", constants)


def test_memory_is_mapped_where_none_of_it_can_become_code() -> None:
    assert allowed.C.calls("mmap") and allowed.C.calls("munmap")
    assert not allowed.C.calls("mprotect") and not allowed.CUDA.calls("mmap")


@pytest.mark.parametrize("symbol", ["pthread_create", "pthread_join"])
def test_threads_that_are_joined_are_no_flag_on_a_cpu(symbol: str) -> None:
    assert allowed.C.calls(symbol) and allowed.CPP.calls(symbol)
    assert not allowed.CUDA.calls(symbol)


@pytest.mark.parametrize(
    "symbol",
    ["pthread_detach", "pthread_setaffinity_np", "thrd_create", "_exit", "_ZNSt6threadC1Ev", "_ZNSt7jthread4joinEv",
     "_ZNSt11this_thread6get_idEv", "_ZNSt6chrono3_V212steady_clock3nowEv", "_ZSt3cin", "fopen", "freopen",
     "_ZNSirsERi", "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
     "_ZTTSt14basic_ofstreamIcSt11char_traitsIcEE", "pthread_rwlock_timedwrlock"],
)  # fmt: skip
def test_threads_for_later_clocks_and_files_are_in_no_list(symbol: str) -> None:
    assert not any(one.calls(symbol) for one in (allowed.C, allowed.CPP, allowed.CUDA))


def listed(many: int, jump: str = "jne") -> str:
    """Print as objdump does a function with so many loops in one another."""
    heads = [f"  {4 * at:x}:\tnop" for at in range(many)]
    tails = [f"  {4 * (many + at):x}:\t{jump}    {4 * (many - at - 1):x} <f+0x10>" for at in range(many)]
    return "\n".join(["Disassembly of section .text.f:", "", "0000000000000000 <f>:", *heads, *tails])


@pytest.mark.parametrize("jump", ["jne", "jne,pt", "b.ne", "cbz\tw0,", "tbnz\tw0, #3,"])
def test_code_whose_loops_nobody_can_find_is_flagged(jump: str) -> None:
    assert of_cpu(listed(100, jump)) == ()
    assert of_cpu(listed(1500, jump)) == (NotInspected("to find the loops of f takes too long"),)


@pytest.mark.parametrize("jump", ["call", "bl"])
def test_a_call_of_itself_makes_no_loop(jump: str) -> None:
    assert of_cpu(listed(1500, jump)) == ()


def test_a_jump_with_a_hint_into_the_middle_of_an_instruction_is_flagged() -> None:
    """As objdump prints the bytes 3e 75 01."""
    lines = [
        "Disassembly of section .text:",
        "",
        "0000000000000000 <f>:",
        "   0:\tjne,pt 4 <f+0x4>",
        "   3:\tmov    $1,%eax",
    ]
    assert of_cpu("\n".join([*lines, "   8:\tret"])) == (Executes("jne,pt into another", "hidden"),)


@pytest.mark.parametrize("form", ["{code}\t{at}: R_{kind}\tg-0x4", "{code}\n\t\t{at:0>16}:  R_{kind}\tg-0x4"])
def test_a_relocation_that_fills_the_beginning_of_an_instruction_is_flagged(form: str) -> None:
    """As objdump -w and llvm-objdump print them."""

    def found(at: str, kind: str) -> tuple[Flag, ...]:
        lines = ["Disassembly of section .text:", "", "0000000000000000 <f>:"]
        lines += ["   e:\tnop", "   f:\t" + form.format(code="call   14 <f+0x14>", at=at, kind=kind), "  14:\tret"]
        return of_cpu("\n".join(lines))

    assert found("10", "X86_64_PLT32") == ()
    assert found("f", "X86_64_PLT32") == (Executes("call under a relocation", "hidden"),)
    assert found("14", "386_PC32") == (Executes("ret under a relocation", "hidden"),)
    assert found("f", "AARCH64_CALL26") == (), "a part of the bits of an instruction"


STORE, BACK, RETURN = "movntps %xmm0,(%rdi)", "jne    0 <f>", "ret"
UNFENCED = (Executes("movntps", "unfenced"),)


def of(*functions: tuple[str, ...]) -> tuple[Flag, ...]:
    """Look at functions of these instructions, each of which takes four bytes."""
    names = [(f"Disassembly of section .text.{at}:", "", f"0000000000000000 <f{at}>:") for at in range(len(functions))]
    code = [[f"   {4 * at:x}:\t{text}" for at, text in enumerate(lines)] for lines in functions]
    return of_cpu("\n".join(line for name, lines in zip(names, code, strict=True) for line in (*name, *lines)))


@pytest.mark.parametrize(
    "fence", ["sfence", "mfence", "lock addl $0x0,(%rsp)", "xchg   %eax,(%rsi)", "xacquire lock xchg %eax,(%rsi)"]
)
def test_a_fence_that_can_follow_a_store_past_the_caches_is_one(fence: str) -> None:
    assert of((STORE, fence, RETURN)) == of((STORE, BACK, fence, RETURN)) == of((fence, STORE, BACK, RETURN)) == ()
    assert of(("jne    c <f>", fence, RETURN, STORE, "jmp    4 <f>")) == ()
    assert of((STORE, RETURN), ("call   4 <f>", fence, RETURN)) == ()


@pytest.mark.parametrize("fence", ["lfence", "xchg   %ax,%ax", "prefetchnta (%rdi)", "movntdqa (%rsi),%xmm0"])
def test_what_is_no_fence_is_none(fence: str) -> None:
    assert of((STORE, fence, RETURN)) == UNFENCED


def test_a_fence_that_comes_before_or_cannot_be_reached_is_none() -> None:
    for lines in (("sfence", STORE, RETURN), (STORE, RETURN, "sfence"), (STORE, "jmp c <f>", "sfence")):
        assert of(lines) == UNFENCED
    assert of((STORE, RETURN), (STORE, "sfence", RETURN)) == UNFENCED


@pytest.mark.parametrize("more", [0, 1])
def test_no_more_flags_are_told_than_a_person_can_look_at(more: int) -> None:
    found = tuple(Calls(f"f{at}") for at in range(MOST_FLAGS + more))
    rest = (NotInspected("it has 1 more flags, which are too many or too long to be told"),)
    assert told((*found, *found)) == found[:MOST_FLAGS] + (rest if more else ())


@pytest.mark.parametrize("more", [0, 1])
def test_a_name_that_nobody_can_read_is_not_told(more: int) -> None:
    long: Flag = Calls("f" * (LONGEST_FLAG - len(text.flag(Calls(""))) + more))
    rest = NotInspected("it has 1 more flags, which are too many or too long to be told")
    assert told((long, Calls("g"))) == ((Calls("g"), rest) if more else (long, Calls("g")))
