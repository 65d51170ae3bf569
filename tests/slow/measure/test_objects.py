"""Objects of a real compiler: each with one thing that no kernel needs, and honest ones in many styles."""

import io
import json
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from kpd.measure.objects import allowed, elf, instructions, versions
from kpd.model.flags import Calls, Executes, Flag, HasSection, NotInspected, Replaces, RunsAtLoad

GCC = ("gcc", "-O2", "-fPIC", "-std=gnu11", "-D_GNU_SOURCE", "-ffunction-sections", "-fdata-sections")
X86 = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True).stdout.startswith("x86_64")
HEAD = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n"


def flags(folder: Path, source: str, *more: str) -> set[Flag]:
    (folder / "kernel.c").write_text(HEAD + source)
    subprocess.run([*GCC, *more, "-c", "kernel.c", "-o", "kernel.o"], cwd=folder, check=True)
    listing = subprocess.run(
        ["objdump", "-d", "-r", "-w", "--no-show-raw-insn", "kernel.o"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {*elf.tables((folder / "kernel.o").read_bytes(), allowed.C), *instructions.of_cpu(listing)}


def body(inside: str, before: str = "") -> str:
    return f"{before}\nvoid scale(const float *x, float *y, long n) {{ {inside} }}\n"


LOOP = "for (long i = 0; i < n; i++) y[i] = 2 * x[i];"


def section(name: str, kind: str) -> str:
    return body(LOOP, f'__asm__({json.dumps(f".pushsection {name}, {kind}")} "\\n.quad 0, 37, 0\\n.popsection");')


ATTACKS: dict[str, tuple[str, Flag]] = {
    "a clock of the system": (
        body(f"struct timespec t; clock_gettime(1, &t); {LOOP}", "#include <time.h>"), Calls("clock_gettime")
    ),
    "a library by name": (body(f'dlopen("libm.so", 1); {LOOP}', "#include <dlfcn.h>"), Calls("dlopen")),
    "a file": (body(f'fopen("/tmp/x", "r"); {LOOP}', "#include <stdio.h>"), Calls("fopen")),
    "memory that can be run": (body(f"mprotect(y, n, 7); {LOOP}", "#include <sys/mman.h>"), Calls("mprotect")),
    "a thread": (
        body(f"pthread_t t; pthread_create(&t, 0, work, y); pthread_detach(t); {LOOP}",
             "#include <pthread.h>\nvoid *work(void *at) { return at; }"),
        Calls("pthread_detach"),
    ),
    "the end of the process": (body(f"_exit(0); {LOOP}", "#include <unistd.h>"), Calls("_exit")),
    "a handler of signals": (body(f"signal(11, 0); {LOOP}", "#include <signal.h>"), Calls("signal")),
    "the environment": (body(f'y[0] = getenv("X") != 0; {LOOP}'), Calls("getenv")),
    "a raw call of the system": (body(f"syscall(39); {LOOP}", "#include <unistd.h>"), Calls("syscall")),
    "its program's output": (body(f'printf("%f", x[0]); {LOOP}', "#include <stdio.h>"), Calls("printf")),
    "a stack's worth of variables in each thread": (
        body(f"y[n] = room[n] + one; one = room[n] = x[0]; {LOOP}", "static _Thread_local float one, room[1 << 18];"),
        HasSection("variables of each thread of 1 MiB"),
    ),
    "a constructor": (
        body(LOOP, "float kept; __attribute__((constructor)) static void early(void) { kept = fmaf(kept, kept, 1); }"),
        RunsAtLoad("early"),
    ),
    "a resolver": (
        body(LOOP, "static int a(void) { return 1; } void *found(void); static void *pick(void) { return found(); }"
                   "void *found(void) { return a; } int chosen(void) __attribute__((ifunc(\"pick\")));"),
        RunsAtLoad("chosen"),
    ),
    "what runs before all others": (
        body(LOOP, "static void early(void) {} __attribute__((section(\".preinit_array\"), used))"
                   " static void (*const at)(void) = early;"),
        HasSection(".preinit_array"),
    ),
    "a function of the C library": (
        body(LOOP, "void *memcpy(void *to, const void *from, size_t n) { return to; }"), Replaces("memcpy")
    ),
    "a clock of its own": (
        body(LOOP, "int clock_gettime(int id, void *at) { return 0; }"), Replaces("clock_gettime")
    ),
    "what a linker's own code calls": (
        body(LOOP, "void __gmon_start__(void) {}"), Replaces("__gmon_start__")
    ),
    "a section that can be written and run": (
        body(LOOP, "__asm__(\".section .both, \\\"awx\\\"\\n.long 0\\n.text\");"), HasSection(".both")
    ),
    "code in a section of its own": (
        body(LOOP, "__attribute__((section(\".mine\"), used)) static void hidden(void) {}"), HasSection(".mine")
    ),
    "code in the table of what runs at load": (
        body(LOOP, "__asm__(\".section .init_array, \\\"awx\\\"\\nnop\\n.text\");"), HasSection(".init_array")
    ),
    "code at the start of the program": (
        body(LOOP, "__asm__(\".section .init, \\\"ax\\\"\\nnop\\n.text\");"), HasSection(".init")
    ),
    "relocations of its own": (section(".rela.got", '"a", @progbits'), HasSection(".rela.got")),
    "relocations of its own that are not loaded by themselves": (
        section(".rela.data.rel.ro", '"", @progbits'), HasSection(".rela.data.rel.ro")
    ),
    "relocations of no section": (section(".rela.got", '"", @4'), HasSection(".rela.got")),
    "constants of the kind of relocations": (section(".rodata.mine", '"a", @4'), HasSection(".rodata.mine")),
    "data of the kind of relocations": (section(".data.mine", '"aw", @4'), HasSection(".data.mine")),
    "code of the kind of relocations": (section(".text.mine", '"ax", @4'), HasSection(".text.mine")),
    "a table of what the loader needs": (section(".dynamic", '"a", @progbits'), HasSection(".dynamic")),
    "names that the loader finds": (section(".gnu.hash", '"a", @progbits'), HasSection(".gnu.hash")),
    "a stack that can be run": (
        body(LOOP, "__asm__(\".section .note.GNU-stack, \\\"x\\\", @progbits\\n.text\");"),
        HasSection("stack that can be run"),
    ),
}  # fmt: skip
INSTRUCTIONS = {
    "syscall": "system", "int $0x80": "system", "sysenter": "system", "rdtsc": "clock", "rdtscp": "clock",
    "rdpmc": "clock", "clflush (%rsi)": "cache", "clflushopt (%rsi)": "cache", "clwb (%rsi)": "cache",
    "cldemote (%rsi)": "cache", "ldmxcsr (%rsi)": "modes", "fxrstor (%rsi)": "modes", "fldenv (%rsi)": "modes",
    "wrfsbase %rax": "system", "lock; nop; rdtsc": "clock", "movnti %eax,(%rdi)": "unfenced",
    "vmovntps %ymm0,(%rdi)": "unfenced", "maskmovdqu %xmm0,%xmm1": "unfenced", "movdiri %eax,(%rdi)": "unfenced",
}  # fmt: skip
HONEST = {
    "a loop": body(LOOP),
    "a mebibyte of variables in each thread": body(
        f"y[n] = room[n]; room[n] = x[0]; {LOOP}", "static _Thread_local float room[1 << 18];"
    ),
    "a number in a text": body(f'y[n] = strtol("7", 0, 10) + atof("0.5"); {LOOP}'),
    "mathematics": body("for (long i = 0; i < n; i++) y[i] = expf(x[i]) + tanhf(x[i]) / sqrtf(x[i]);"),
    "memory": body("float *t = malloc(n * 4); memcpy(t, x, n * 4); memset(y, 0, n * 4); y[0] = t[0]; free(t);"),
    "an aligned pool": body("static float *p; if (!p) p = aligned_alloc(64, 4096); *p = x[0]; y[0] = *p;"),
    "a pool of mapped memory": body(
        "static float *p; if (!p) { p = mmap(0, 1 << 22, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);"
        " madvise(p, 1 << 22, MADV_HUGEPAGE); } p[n & 1023] = x[0]; y[0] = p[1];",
        "#include <sys/mman.h>\n",
    ),
    "static scratch": body("static float scratch[1024]; scratch[n & 1023] = x[0]; y[0] = scratch[1];"),
    "a table at first use": body(
        "pthread_once(&once, fill); for (long i = 0; i < n; i++) y[i] = table[i & 255] * x[i];",
        "#include <pthread.h>\nstatic float table[256]; static pthread_once_t once = PTHREAD_ONCE_INIT;"
        "static void fill(void) { for (int i = 0; i < 256; i++) table[i] = sinf(i); }",
    ),
    "a pointer between calls": body("static const float *last; last = x; y[0] = *last;"),
    "an array whose size has a star": body("static float tile[8 * 8]; tile[n & 63] = x[0]; y[0] = tile[1];"),
    "a comment that names a clock": body("/* clock_gettime and rdtsc would be wrong here */ " + LOOP),
    "bytes of instructions in a table": body(
        "y[0] = bytes[n & 7];", "static const uint8_t bytes[8] = {0x0f, 0x05, 0x0f, 0x31, 0xcd, 0x80, 0x0f, 0xae};"
    ),
    "a constant that looks like an instruction": body("y[0] = n == 0x050f310f ? 1 : 2;"),
    "a thread's own data": body("static __thread float kept[16]; kept[n & 15] = x[0]; y[0] = kept[1];"),
    "a switch": body("switch (n & 7) { case 0: y[0] = 1; break; case 1: y[1] = x[2]; break; case 2: y[2] = x[1]; break;"
                     "case 3: y[3] = x[5]; break; case 4: y[4] = 2; break; case 5: y[5] = x[7] + 1; break; }"),
    "a function pointer": body("static float (*const way[2])(float) = {sinf, cosf}; y[0] = way[n & 1](x[0]);"),
    "sorting": body("qsort(y, n, 4, cmp);", "static int cmp(const void *a, const void *b)"
                    " { return *(const float *)a < *(const float *)b; }"),
    "constants in a section of its own": body(
        "y[0] = own[n & 3];", '__attribute__((section("tables"))) static const float own[4] = {1, 2, 3, 4};'
    ),
    "a table of names": body("y[0] = names[n & 1][0];", 'static const char *const names[] = {"one", "two"};'),
    "prefetches": body("for (long i = 0; i < n; i++) { __builtin_prefetch(x + i + 64); y[i] = x[i]; }"),
    "an attribute of sections for the hot code": body(LOOP, "__attribute__((hot)) "),
    "a stack protector": body("char buffer[64]; strncpy(buffer, (const char *)x, 63); y[0] = buffer[n & 63];"),
    "wide integers": body("unsigned __int128 p = (unsigned __int128)n * n; y[0] = (float)(p / 3);"),
    "an assertion": body("assert(n > 0); " + LOOP, "#include <assert.h>"),
    "an error that ends the process": body(
        'if (n < 0) { fprintf(stderr, "%ld elements\\n", n); exit(1); } ' + LOOP, "#include <stdio.h>"
    ),
    "a lock": body(
        "call_once(&once, make); mtx_lock(&lock); " + LOOP + " mtx_unlock(&lock);",
        "#include <threads.h>\nstatic once_flag once = ONCE_FLAG_INIT; static mtx_t lock;"
        "static void make(void) { mtx_init(&lock, mtx_plain); }",
    ),
}  # fmt: skip
SIMD = {
    "vectors": body("for (long i = 0; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_loadu_ps(x + i));"),
    "non-temporal stores": body("_mm256_stream_ps(y, _mm256_loadu_ps(x)); _mm_sfence();"),
    "non-temporal stores that a function makes whose caller has the fence": body(
        "store(x, y, n); _mm_sfence();",
        "__attribute__((noinline)) static void store(const float *x, float *y, long n)"
        " { for (long i = 0; i + 8 <= n; i += 8) _mm256_stream_ps(y + i, _mm256_loadu_ps(x + i)); }",
    ),
    "non-temporal stores in some calls": body(
        "long i = 0; if ((size_t)y % 32 == 0) for (; i + 8 <= n; i += 8)"
        " _mm256_stream_ps(y + i, _mm256_loadu_ps(x + i));"
        " for (long k = i; k < n; k++) y[k] = x[k]; if (i) _mm_sfence();"
    ),
    "non-temporal loads": body("_mm256_storeu_si256((__m256i *)y, _mm256_stream_load_si256((const __m256i *)x));"),
    "a pause": body("_mm_pause(); y[0] = x[0];"),
    "fused": body("__m256 a = _mm256_set1_ps(2); _mm256_storeu_ps(y, _mm256_fmadd_ps(a, _mm256_loadu_ps(x), a));"),
    "fast mathematics": body("for (long i = 0; i < n; i++) y[i] = sinf(x[i]) + expf(x[i]);"),
    "versions for several processors": body(
        LOOP, '__attribute__((target_clones("avx512f", "arch=haswell", "sse4.2", "default")))'
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ATTACKS)
def test_each_trait_of_an_attack_is_flagged(tmp_path: Path, what: str) -> None:
    source, flag = ATTACKS[what]
    assert flag in flags(tmp_path, source, "-fno-builtin", "-w")


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
@pytest.mark.parametrize("instruction", INSTRUCTIONS)
def test_each_instruction_that_no_kernel_needs_is_flagged(tmp_path: Path, instruction: str) -> None:
    found = flags(tmp_path, body(f'__asm__ volatile("{instruction}"); {LOOP}'))
    assert {(one.purpose) for one in found if isinstance(one, Executes)} == {INSTRUCTIONS[instruction]}


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
def test_an_instruction_inside_another_is_flagged(tmp_path: Path) -> None:
    """The constant of a `mov` is a system call, and a jump leads there."""
    hidden = "jmp 1f + 1\\n1: .byte 0xb8, 0x0f, 0x05, 0x90, 0x90"
    assert Executes("jmp into another", "hidden") in flags(tmp_path, body(f'__asm__ volatile("{hidden}"); {LOOP}'))


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
def test_an_instruction_that_a_relocation_writes_is_flagged(tmp_path: Path) -> None:
    """Four nops, which become a system call when they are linked."""
    odd = "odd: nop\\nnop\\nnop\\nnop\\nret\\n.reloc odd, R_X86_64_PC32, odd - 0x6f6ffaf1"
    before = f'__asm__(".pushsection .text\\n.type odd,@function\\n{odd}\\n.popsection");'
    assert Executes("nop under a relocation", "hidden") in flags(tmp_path, body(LOOP, before))


@pytest.mark.parametrize("optimised", ["-O0", "-O2", "-O3"])
@pytest.mark.parametrize("what", HONEST)
def test_an_honest_kernel_has_no_flag(tmp_path: Path, what: str, optimised: str) -> None:
    assert flags(tmp_path, HONEST[what], optimised, "-fstack-protector-strong", "-g") == set()


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
@pytest.mark.parametrize("what", SIMD)
def test_an_honest_kernel_with_vectors_has_no_flag(tmp_path: Path, what: str) -> None:
    assert flags(tmp_path, "#include <immintrin.h>\n" + SIMD[what], "-O3", "-mavx2", "-mfma", "-ffast-math") == set()


def test_openmp_is_flagged_unless_the_task_asks_for_it(tmp_path: Path) -> None:
    source = body(f'_Pragma("omp parallel for") {LOOP}')
    assert Calls("GOMP_parallel") in flags(tmp_path, source, "-fopenmp")
    listed = allowed.with_threads(allowed.C, ("-O3", "-fopenmp"))
    assert elf.tables((tmp_path / "kernel.o").read_bytes(), listed) == ()
    assert allowed.with_threads(allowed.C, ("-O3",)) is allowed.C


@pytest.mark.parametrize("cut", [0, 1, 3, 17, 63, 64, 200, 700])
def test_a_damaged_object_is_not_let_through(tmp_path: Path, cut: int) -> None:
    flags(tmp_path, HONEST["a loop"])
    found = elf.tables((tmp_path / "kernel.o").read_bytes()[:cut], allowed.C)
    assert [type(flag) for flag in found] == [NotInspected]


def assembled(folder: Path, lines: str) -> bytes:
    (folder / "kernel.s").write_text(f".text\nscale:\nret\n{lines}\n")
    subprocess.run(["gcc", "-c", "kernel.s", "-o", "kernel.o"], cwd=folder, check=True)
    return (folder / "kernel.o").read_bytes()


SECTIONS = '.altmacro\n.macro one n\n.section .text.s\\n,"ax"\n.endm\n.set k,0\n.rept {}\none %k\n.set k,k+1\n.endr'
SYMBOLS = ".macro one\nname\\@:\n.endm\n.rept {}\none\n.endr"


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(
    ("lines", "most", "beside", "what"),
    [(SECTIONS, elf.MOST_SECTIONS, 7, "sections"), (SYMBOLS, elf.MOST_SYMBOLS, 2, "symbols")],
)
def test_an_object_of_more_than_a_compiler_makes_is_flagged(
    tmp_path: Path, lines: str, most: int, beside: int, what: str, more: int
) -> None:
    """Beside its own an assembler makes seven sections, with the one of nothing, and two symbols."""
    found = elf.tables(assembled(tmp_path, lines.format(most - beside + more)), allowed.C)
    told = f"it has {most + 1} {what}, and kpd looks at {most} at most"
    assert found == ((NotInspected(told),) if more else ())


@pytest.mark.parametrize("more", [0, 1])
def test_an_object_of_longer_names_than_a_compiler_makes_is_flagged(tmp_path: Path, more: int) -> None:
    """Most names are the ends of others, and take no place of their own."""
    known = sum(map(len, (".text", ".data", ".bss", ".symtab", ".strtab", ".shstrtab", "scale")))
    rest = elf.MOST_CHARACTERS - known + more
    long = [f"{'n' * 10_000}{at:03}" for at in range(rest // 10_003)]
    names = [*long, "m" * (rest - 10_003 * len(long))]
    found = elf.tables(assembled(tmp_path, "\n".join(f"{name}:" for name in names)), allowed.C)
    told = f"its names have more than {elf.MOST_CHARACTERS} characters, which kpd does not read"
    assert found == ((NotInspected(told),) if more else ())


def test_no_more_names_are_looked_at_than_are_read(tmp_path: Path) -> None:
    """Thousands of symbols may have one long name: the last one's place, which is none, is not looked at."""
    data = bytearray(assembled(tmp_path, f"{'n' * elf.MOST_CHARACTERS}:\n{SYMBOLS.format(9)}"))
    read = ELFFile(io.BytesIO(bytes(data)))
    symbols = read.get_section_by_name(".symtab")
    assert isinstance(symbols, SymbolTableSection)
    long = max(symbols.iter_symbols(), key=lambda one: len(one.name))["st_name"]
    for number in range(1, symbols.num_symbols()):
        place = long if number < symbols.num_symbols() - 1 else symbols.stringtable["sh_size"]
        struct.pack_into("<I", data, symbols["sh_offset"] + number * symbols["sh_entsize"], place)
    told = f"its names have more than {elf.MOST_CHARACTERS} characters, which kpd does not read"
    assert elf.tables(bytes(data), allowed.C) == (NotInspected(told),)


RESOLVER = """
.section .rodata
table: .quad 1
.section .text.f,"ax",@progbits
.type f, @gnu_indirect_function
start: sub $8, %rsp
{first}
call {asks}@PLT
mov {features}@GOTPCREL(%rip), %rax
lea {version}(%rip), %rdx
middle: {inside}
testb $4, 13(%rax)
je 2f
bt $3, %eax
2: cmovne %rdx, %rax
{end}
.set f, {begins}
{after}
"""
AS_COMPILED = {
    "begins": "start", "first": "", "asks": "__cpu_indicator_init", "features": "__cpu_model", "version": "scale",
    "inside": "", "end": "add $8, %rsp\nret", "after": "",
}  # fmt: skip
RESOLVERS = {
    "writes to memory": {"inside": "movb $1, (%rax)"},
    "leaves by a pointer of its own": {"inside": "push %rdx"},
    "takes another stack": {"inside": "cmove %rdx, %rsp"},
    "calls another function": {"asks": "scale"},
    "calls a function of a library": {"asks": "abort"},
    "calls its own function by that name": {"after": "__cpu_indicator_init: ret"},
    "reads what others write": {"features": "environ"},
    "chooses what is no code": {"version": "table"},
    "calls the system": {"inside": "syscall"},
    "goes on elsewhere": {"inside": "jmp scale"},
    "goes on elsewhere if": {"inside": "jne scale"},
    "begins anew": {"inside": ".byte 0xeb, start - . - 1"},
    "jumps into an instruction": {"inside": ".byte 0xeb, middle - 3 - . - 1"},
    "jumps past its end": {"inside": ".byte 0xeb, 100"},
    "does not end": {"end": ""},
    "returns with another stack": {"end": "ret"},
    "has more on the stack": {"first": "sub $8, %rsp"},
    "begins in the middle": {"begins": "middle"},
    "has other code behind it": {"after": "nop"},
    "is filled in by the linker": {"inside": "test $0, %eax\n.reloc . - 4, R_X86_64_PC32, scale"},
    "is filled in beyond a place": {
        "inside": ".byte 0x48, 0x8d, 0x15\n.reloc ., R_X86_64_64, scale\n.long 0\ntest $0, %eax"
    },
    "is filled in twice": {"first": ".reloc . + 1, R_X86_64_PC32, __cpu_indicator_init"},
}


def resolved(folder: Path, **parts: str) -> tuple[Flag, ...]:
    return elf.tables(assembled(folder, RESOLVER.format(**AS_COMPILED | parts)), allowed.C)


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
@pytest.mark.parametrize("what", RESOLVERS)
def test_a_resolver_that_does_not_only_choose_a_version_is_flagged(tmp_path: Path, what: str) -> None:
    assert resolved(tmp_path) == ()
    assert RunsAtLoad("f") in resolved(tmp_path, **RESOLVERS[what])


@pytest.mark.skipif(not X86, reason="instructions of x86-64")
@pytest.mark.parametrize("more", [0, 1])
def test_a_resolver_of_more_code_than_a_compiler_makes_is_flagged(tmp_path: Path, more: int) -> None:
    size = len(bytes_of_resolver(tmp_path))
    rest = versions.LONGEST + more - size
    inside = "test $1, %cl\n" * (rest % 2) + "test $1, %al\n" * ((rest - 3 * (rest % 2)) // 2)
    assert resolved(tmp_path, inside=inside) == ((RunsAtLoad("f"),) if more else ())


def bytes_of_resolver(folder: Path) -> bytes:
    read = ELFFile(io.BytesIO(assembled(folder, RESOLVER.format(**AS_COMPILED))))
    return bytes(read.get_section_by_name(".text.f").data())


STREAMS = """
.type _GLOBAL__sub_I_x, @function
_GLOBAL__sub_I_x: call _ZNSt8ios_base4InitC1Ev
.size _GLOBAL__sub_I_x, .-_GLOBAL__sub_I_x
.rept {}
.quad scale
.endr
.section .init_array,"aw"
.quad _GLOBAL__sub_I_x
"""


@pytest.mark.parametrize("more", [0, 1])
def test_an_initialiser_of_streams_among_more_than_a_compiler_makes_is_flagged(tmp_path: Path, more: int) -> None:
    found = elf.tables(assembled(tmp_path, STREAMS.format(elf.MOST_RELOCATIONS - 1 + more)), allowed.CPP)
    assert found == ((RunsAtLoad("_GLOBAL__sub_I_x"),) if more else ())


BEGINS = """
int chosen(void) __attribute__((ifunc("pick")));
static int a(void) { return 1; }
void *found(void) { return a; }
static void *pick(void) { return found(); }
float kept;
__attribute__((constructor)) static void early(void) { for (int i = 0; i < 99; i++) kept += i; }
"""


def test_where_an_object_begins_late_only_a_resolver_runs_at_load(tmp_path: Path) -> None:
    assert {RunsAtLoad("early"), RunsAtLoad("chosen")} <= flags(tmp_path, body(LOOP, BEGINS))
    data = (tmp_path / "kernel.o").read_bytes()
    assert elf.tables(data, allowed.C, begins_late=True) == (RunsAtLoad("chosen"),)


def test_functions_that_run_at_load_are_counted_over_all_tables(tmp_path: Path) -> None:
    tables = "".join(f'.section .init_array.{at},"aw"\n.quad scale\n' for at in range(elf.MOST_STARTS + 1))
    found = elf.tables(assembled(tmp_path, tables), allowed.C)
    assert RunsAtLoad(f"more than {elf.MOST_STARTS} functions") in found


def test_constants_are_not_searched_again_for_each_name(tmp_path: Path) -> None:
    """Each search would take a fifth of a second."""
    weak = "".join(f".weak w{at}\n.quad w{at}\n" for at in range(500))
    data = assembled(tmp_path, f".section .rodata\n.fill 30000000,1,97\n{weak}")
    begun = time.monotonic()
    assert len(elf.tables(data, allowed.CUDA)) == 500
    assert time.monotonic() - begun < 10


NVCC = shutil.which("nvcc")
CUDA_ATTACKS = {
    "cudaStreamAddCallback": "cudaStreamAddCallback(s, later, 0, 0);",
    "cudaLaunchHostFunc": "cudaLaunchHostFunc(s, host, 0);",
    "cudaEventElapsedTime": "float ms; cudaEventElapsedTime(&ms, 0, 0);",
    "cudaDeviceSetLimit": "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);",
    "cudaHostRegister": "cudaHostRegister(y, 4, 0);",
    "cudaDeviceReset": "cudaDeviceReset();",
}
CUDA_HEAD = """
#include <cuda_runtime.h>
static void later(cudaStream_t, cudaError_t, void *) {}
static void host(void *) {}
__global__ void twice(const float *x, float *y, long n) {
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = 2 * x[i];
}
"""


def cuda_flags(folder: Path, source: str, head: str = CUDA_HEAD) -> set[Flag]:
    (folder / "kernel.cu").write_text(
        f'{head}extern "C" void run(const float *x, float *y, long n, cudaStream_t s)'
        f" {{ {source} twice<<<132, 256, 0, s>>>(x, y, n); }}\n"
    )
    own = ("-O3", "-arch=sm_90", "-std=c++17", "-DNVTX_DISABLE", "-Xcompiler", "-fPIC,-fno-gnu-unique", "-w")
    subprocess.run(["nvcc", *own, "-c", "kernel.cu", "-o", "kernel.o"], cwd=folder, check=True)
    return set(elf.tables((folder / "kernel.o").read_bytes(), allowed.CUDA))


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
@pytest.mark.parametrize("call", CUDA_ATTACKS)
def test_a_call_of_the_runtime_that_no_kernel_needs_is_flagged(tmp_path: Path, call: str) -> None:
    assert cuda_flags(tmp_path, CUDA_ATTACKS[call]) == {Calls(call)}


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
def test_an_initialiser_of_a_cuda_object_is_flagged(tmp_path: Path) -> None:
    found = cuda_flags(
        tmp_path, "", CUDA_HEAD + "static float early() { static int n; return ++n; }\nfloat kept = early();\n"
    )
    assert [type(flag) for flag in found] == [RunsAtLoad]


@pytest.mark.skipif(NVCC is None, reason="no nvcc")
def test_an_honest_cuda_object_with_a_kept_graph_and_tensor_maps_has_no_flag(tmp_path: Path) -> None:
    kept = """
    static void *encode; cudaDriverEntryPointQueryResult found;
    if (!encode) cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
    static cudaGraphExec_t kept; static cudaStream_t other; static cudaEvent_t forked; static float *scratch;
    if (!kept) {
        cudaGraph_t graph;
        cudaMalloc(&scratch, 4 * n); cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
        cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
        cudaEventRecord(forked, s); cudaStreamWaitEvent(other, forked, 0);
        twice<<<132, 256, 0, other>>>(x, scratch, n);
        cudaEventRecord(forked, other); cudaStreamWaitEvent(s, forked, 0);
        cudaStreamEndCapture(s, &graph); cudaGraphInstantiate(&kept, graph, 0);
    }
    cudaGraphLaunch(kept, s); cudaMemsetAsync(y, 0, 4 * n, s);
    """
    assert cuda_flags(tmp_path, kept) == set()


@pytest.mark.parametrize("many", [elf.MOST_STARTS, elf.MOST_STARTS + 1])
def test_no_more_functions_that_run_at_load_are_looked_at_than_anybody_writes(tmp_path: Path, many: int) -> None:
    early = "".join(f"__attribute__((constructor)) static void f{at}(void) {{ kept += {at}; }}\n" for at in range(many))
    found = flags(tmp_path, body(LOOP, f"float kept;\n{early}"))
    told = {RunsAtLoad(f"f{at}") for at in range(elf.MOST_STARTS)}
    assert found == told | ({RunsAtLoad(f"more than {elf.MOST_STARTS} functions")} if many > elf.MOST_STARTS else set())
