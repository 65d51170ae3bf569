"""What runs at load: what only sets variables, or chooses by what the processor has, is no flag, all else is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kpd.measure.objects import allowed, elf, initialisers
from kpd.model.flags import Flag, RunsAtLoad

X86 = subprocess.run(["gcc", "-dumpmachine"], capture_output=True, text=True).stdout.startswith("x86_64")
pytestmark = pytest.mark.skipif(not X86, reason="instructions of x86-64")
NAME = "_GLOBAL__sub_I_x"
HEAD = """
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
struct Plan { void *exec; long n; };
struct Pool { float *at = nullptr; size_t bytes; Pool() : bytes(64) {} ~Pool() { free(at); } };
"""
GLOBALS = {
    "a map": ("std::map<long, Plan> kept;", "kept[n].n++;"),
    "a hash table": ("std::unordered_map<long, Plan> kept;", "kept[n].n++;"),
    "a vector": ("std::vector<float> kept;", "kept.resize(n);"),
    "a text": ("std::string kept;", "kept.resize(n);"),
    "a list": ("std::list<long> kept;", "kept.push_back(n);"),
    "a queue": ("std::priority_queue<long> kept;", "kept.push(n);"),
    "a pool that frees its memory": ("Pool kept;", "kept.at = (float *)malloc(n);"),
    "several": (
        "Pool kept; std::map<long, std::vector<float>> plans; std::set<int> seen; std::unordered_map<int, int> counts;",
        "kept.bytes = n; plans[n].resize(n); seen.insert((int)n); counts[1]++;",
    ),
}


def built(folder: Path, compiler: list[str], name: str, source: str) -> bytes:
    (folder / name).write_text(source)
    subprocess.run([*compiler, "-w", "-c", name, "-o", "kernel.o"], cwd=folder, check=True)
    return (folder / "kernel.o").read_bytes()


@pytest.mark.parametrize("storage", ["", "static "])
@pytest.mark.parametrize("options", [["-O2"], ["-O3", "-march=native"], ["-Os"]])
@pytest.mark.parametrize("what", GLOBALS)
def test_a_container_that_is_a_global_variable_is_no_flag(
    tmp_path: Path, what: str, options: list[str], storage: str
) -> None:
    variables, use = GLOBALS[what]
    text = "".join(f"{storage}{one.strip()};\n" for one in variables.split(";") if one.strip())
    source = f"{HEAD}{text}void scale(const float *x, float *y, long n) {{ {use} y[0] = x[0]; }}\n"
    assert elf.tables(built(tmp_path, ["g++", "-fPIC", *options], "kernel.cpp", source), allowed.CPP) == ()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_nor_is_it_in_a_cuda_object(tmp_path: Path) -> None:
    source = f"""{HEAD}
std::map<long, cudaGraphExec_t> graphs; static std::vector<float *> blocks;
__global__ void twice(const float *x, float *y, long n) {{
    for (long i = threadIdx.x; i < n; i += 256) y[i] = 2 * x[i];
}}
void run(const float *x, float *y, long n, cudaStream_t s) {{
    blocks.push_back(y);
    if (graphs.count(n)) cudaGraphLaunch(graphs[n], s);
    else twice<<<1, 256, 0, s>>>(x, y, n);
}}
"""
    own = ["nvcc", "-O3", "-arch=sm_90", "-std=c++17", "-DNVTX_DISABLE", "-Xcompiler", "-fPIC,-fno-gnu-unique"]
    assert elf.tables(built(tmp_path, own, "kernel.cu", source), allowed.CUDA) == ()


INITIALISER = f"""
.section .data.rel.ro,"aw"
constant: .quad 0, 0
.section .bss,"aw",@nobits
.fill 16
kept: .fill 64
.text
end: ret
.section .text.startup,"ax",@progbits
.type {NAME}, @function
{{before}}
{NAME}: endbr64
push %rbx
sub $8, %rsp
lea kept(%rip), %rbx
lea {{stored}}(%rip), %rax
{{first}}
movq $0, {{offset}}(%rax)
movl $7, kept+16(%rip)
mov %rbx, %rsi
mov end@GOTPCREL(%rip), %rdi
lea __dso_handle(%rip), %rdx
call {{called}}@PLT
{{inside}}
movq $0, 24(%rbx)
add $8, %rsp
{{pop}}
{{last}}
.size {NAME}, .-{NAME}{{less}}
{{after}}
.section .init_array,"aw"
table: .quad {NAME}
"""
AS_COMPILED = {
    "before": "", "first": "", "stored": "kept", "offset": "0", "called": "__cxa_atexit", "inside": "",
    "pop": "pop %rbx", "last": "ret", "less": "", "after": "",
}  # fmt: skip
OTHER = {
    "calls a function of its own": {"called": "end"},
    "calls a function of a library": {"called": "abort"},
    "calls its own function by that name": {"after": ".text\n__cxa_atexit: ret"},
    "calls what a register holds": {"inside": "call *%rbx"},
    "sets what lies before its variables": {"offset": "-24"},
    "sets what lies behind them": {"offset": "57"},
    "sets a table of what runs at load": {"stored": "table"},
    "sets a constant": {"stored": "constant"},
    "sets its code": {"stored": "end"},
    "sets what others own": {"stored": "environ"},
    "sets a place that a call has changed": {"inside": "movq $0, (%rax)"},
    "sets a place that it has computed": {"first": "xor %eax, %eax"},
    "sets a place that it adds to": {"first": "add $8, %rax"},
    "sets a place that it has cut short": {"first": "lea kept(%rip), %eax"},
    "sets a place of which it has changed a part": {"first": "mov %rsp, %rax\nmov kept@GOTPCREL(%rip), %al"},
    "sets a place by an index": {"first": "movq $0, (%rax,%rbx)"},
    "sets what a thread has": {"first": "movq $0, %fs:0"},
    "sets a register of a thread": {"first": "mov %eax, %fs"},
    "sets many": {"first": "rep stosq"},
    "jumps back again and again": {"inside": "1: nop\njmp 1b"},
    "jumps back if": {"inside": "1: nop\nje 1b"},
    "jumps to itself": {"inside": "1: je 1b"},
    "sets a place of its own code": {"inside": "movl $0, end(%rip)"},
    "sets a place near its own code": {"inside": "movl $0, 8(%rip)"},
    "sets its code by its place": {"inside": "lea 8(%rip), %rcx\nmovl $0, (%rcx)"},
    "jumps into an instruction": {"inside": "je 1f + 1\n1: mov $7, %ecx"},
    "jumps behind its end": {"inside": "je 1f", "after": ".section .text.startup\n1: ret"},
    "jumps elsewhere": {"inside": "je end"},
    "jumps elsewhere in any case": {"inside": "jmp end@PLT"},
    "jumps to a function of a library": {"inside": "jmp abort@PLT"},
    "jumps to its end elsewhere": {"inside": "jmp end@PLT\nret"},
    "reads by a bit's number": {"inside": "bt %rbx, kept(%rip)"},
    "jumps to what a register holds": {"inside": "jmp *%rbx"},
    "counts": {"inside": "jrcxz 1f\n1: nop"},
    "takes more of the stack on one way": {"inside": "je 1f\npush %rcx\n1: nop"},
    "sets a place that it knows on one way only": {
        "inside": "lea kept(%rip), %rcx\nje 1f\nxor %ecx, %ecx\n1: movq $0, (%rcx)"
    },
    "has more ways than anybody writes": {"inside": "je 1f\n1: nop\n" * 16},
    "sets what the processor has": {"inside": "mov __cpu_model@GOTPCREL(%rip), %rcx\nmovl $0, 12(%rcx)"},
    "reads what lies before that": {"inside": "mov __cpu_model@GOTPCREL(%rip), %rcx\nmov -4(%rcx), %ecx"},
    "reads what lies behind that": {"inside": "mov __cpu_model@GOTPCREL(%rip), %rcx\nmov 61(%rcx), %ecx"},
    "calls the system": {"inside": "syscall"},
    "reads a clock": {"inside": "rdtsc"},
    "asks for features": {"inside": "cpuid"},
    "changes modes": {"inside": "ldmxcsr kept(%rip)"},
    "returns to a place of its own": {"pop": "pop %rbx\npush %rbx"},
    "returns in the middle": {"inside": "ret"},
    "takes its caller's stack": {"pop": "pop %rbx\npop %rcx\npush %rcx"},
    "leaves its caller another register": {"first": "lea end(%rip), %rbp"},
    "gives a register back as another one": {"pop": "pop %rbp"},
    "changes a register that it has saved": {"inside": "movq $0, 8(%rsp)"},
    "changes where it returns to": {"inside": "movq $0, 16(%rsp)"},
    "changes what lies below its stack": {"inside": "movq $0, -8(%rsp)"},
    "keeps the place of its stack": {"first": "lea 8(%rsp), %rax"},
    "takes half a word of the stack": {"pop": "pop %rbx\nsub $4, %rsp\nadd $4, %rsp"},
    "takes another stack": {"inside": "mov %rbx, %rsp"},
    "takes a part of another stack": {"inside": "mov %ebx, %esp"},
    "returns to more than its caller": {"last": "ret $8"},
    "goes on elsewhere": {"last": "jmp end@PLT"},
    "does not end": {"last": "nop"},
    "is longer than it says": {"less": "-1"},
    "is filled in by the linker": {"inside": "mov $0, %ecx\n.reloc . - 4, R_X86_64_PC32, end"},
    "is filled in from before it": {"before": ".quad 0\n.reloc . - 4, R_X86_64_64, end"},
    "is filled in beyond a place": {"inside": "lea 0(%rip), %rcx\n.reloc . - 4, R_X86_64_64, kept\nnop\nnop\nnop\nnop"},
    "is filled in twice": {"inside": "lea kept(%rip), %rcx\n.reloc . - 4, R_X86_64_PC32, end"},
}


def initialised(folder: Path, **parts: str) -> tuple[Flag, ...]:
    text = INITIALISER.format(**AS_COMPILED | parts)
    return elf.tables(built(folder, ["gcc"], "kernel.s", text), allowed.CPP)


@pytest.mark.parametrize("what", OTHER)
def test_an_initialiser_that_does_anything_else_is_flagged(tmp_path: Path, what: str) -> None:
    assert initialised(tmp_path) == ()
    assert RunsAtLoad(NAME) in initialised(tmp_path, **OTHER[what])


SET = (
    "movq $0, (%rsp)", "mov %rbx, %rax\nmovq $0, (%rax)", "pxor %xmm0, %xmm0\nmovups %xmm0, kept(%rip)",
    "je 1f\nmovl $3, kept(%rip)\n1: jmp 2f\nnop\n2: nop",
    "mov __cpu_model@GOTPCREL(%rip), %rcx\ntestb $4, 60(%rcx)\ncmove %rbx, %rax\nmov %rax, kept(%rip)",
)  # fmt: skip


@pytest.mark.parametrize("inside", SET)
def test_its_own_words_of_the_stack_and_its_variables_may_be_set(tmp_path: Path, inside: str) -> None:
    assert initialised(tmp_path, inside=inside) == ()


@pytest.mark.parametrize("offset", ["-16", "56"])
def test_the_first_and_the_last_variable_may_be_set(tmp_path: Path, offset: str) -> None:
    assert initialised(tmp_path, offset=offset) == ()


@pytest.mark.parametrize("more", [0, 1])
def test_an_initialiser_of_more_code_than_a_compiler_makes_is_flagged(tmp_path: Path, more: int) -> None:
    built(tmp_path, ["gcc"], "kernel.s", INITIALISER.format(**AS_COMPILED))
    said = subprocess.run(["nm", "-S", "kernel.o"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    size = next(int(line.split()[1], 16) for line in said.splitlines() if line.endswith(NAME))
    found = initialised(tmp_path, inside="nop\n" * (initialisers.LONGEST + more - size))
    assert found == ((RunsAtLoad(NAME),) if more else ())


VERSIONS = """
static long quick(void) { return 1; }
static long plain(void) { return 2; }
"""
AT_LOAD = {
    "a variable": "static long kept; __attribute__((constructor)) static void early(void) { kept = 7; }"
    "long of(void) { return kept; }",
    "a function by what the processor has": f"""{VERSIONS}
static struct version {{
    const char *name;
    long (*run)(void);
}} versions[] = {{{{"plain", plain}}, {{"quick", quick}}}};
static const struct version *chosen = versions;
__attribute__((constructor)) static void early(void) {{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) chosen = &versions[1];
}}
long of(void) {{ return chosen->run(); }}
""",
    "a symbol by what the processor has": f"""{VERSIONS}
static long (*early(void))(void) {{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") || __builtin_cpu_supports("avx2") ? quick : plain;
}}
long of(void) __attribute__((ifunc("early")));
""",
}
AT_THE_END = {
    "a destructor": "__attribute__((destructor)) static void late(void) { free(kept); }",
    "a function of atexit": "static void late(void) { free(kept); }\nvoid first(void) { atexit(late); }",
}


@pytest.mark.parametrize("options", [["-O1"], ["-O2"], ["-O3", "-march=native"], ["-Os"]])
@pytest.mark.parametrize("what", AT_LOAD)
def test_what_only_sets_variables_or_chooses_is_no_flag_in_c(tmp_path: Path, what: str, options: list[str]) -> None:
    assert elf.tables(built(tmp_path, ["gcc", "-fPIC", *options], "kernel.c", AT_LOAD[what]), allowed.C) == ()


@pytest.mark.parametrize("what", AT_THE_END)
def test_what_runs_at_the_end_of_a_process_is_no_flag(tmp_path: Path, what: str) -> None:
    """It may do what a call may, and has to end: the process must end by itself."""
    source = f"#include <stdlib.h>\nstatic void *kept;\n{AT_THE_END[what]}\nvoid of(void) {{ kept = malloc(8); }}\n"
    assert elf.tables(built(tmp_path, ["gcc", "-fPIC", "-O2"], "kernel.c", source), allowed.C) == ()
