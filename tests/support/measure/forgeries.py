"""Kernels of the task in `measured` that forge their gain, and honest ones of many styles."""

from tests.places import ROOT
from tests.support.measure.measured import LOOP, RIGHT, kernel

WORK = "for (volatile int r = 0; r < 50; r++)"
SLOW = kernel(f"{WORK} {{ {LOOP} }}")
"""The incumbent of all of them: fifty times the work."""
HALF = kernel(f"for (volatile int r = 0; r < 25; r++) {{ {LOOP} }}")
TENTH = kernel(f"for (volatile int r = 0; r < 5; r++) {{ {LOOP} }}")

KEEPS = kernel(
    "static struct { float x[4096], y[4096]; double s[4096], t[4096]; } kept[2];"
    "int at = n == 4096;"
    "for (long i = 0; i < n; i++) {"
    "  if (kept[at].x[i] == x[i] && kept[at].s[i] == s[i]) { y[i] = kept[at].y[i]; t[i] = kept[at].t[i]; continue; }"
    f"  {WORK} {{ y[i] = 2.0f * x[i] + 1.0f; t[i] = x[i] * s[i]; }}"
    "  kept[at].x[i] = x[i]; kept[at].s[i] = s[i]; kept[at].y[i] = y[i]; kept[at].t[i] = t[i]; }"
)
"""Keeps the last inputs and outputs, and computes only what has changed."""
QUICK_AND_KEEPS = KEEPS.replace("r < 50", "r < 5")
"""The same, and what it computes takes a tenth of the time."""

QUICK_WHERE_IT_WAS = kernel(
    "static float *first[2]; float **at = &first[n % 2]; if (!*at) *at = x;"
    f"if (*at == x) {{ {LOOP} return; }} {WORK} {{ {LOOP} }}"
)
"""Quick for the first buffers of a size only."""

MAPS = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static char *find(const char *what, const char *rights, size_t *length) {
    char line[1200], seen[8];
    unsigned long from, to;
    char *found = NULL;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, seen) == 3 && !strcmp(seen, rights) && strstr(line, what)) {
            found = (char *)from;
            *length = to - from;
        }
    if (maps) fclose(maps);
    return found;
}
"""


def forging(how: str) -> str:
    """The incumbent's own work, after what `how` defines as `forge`."""
    return kernel(f"forge(); {WORK} {{ {LOOP} }}", MAPS + how)


STRETCHES = forging("""
static void forge(void) {
    static uint64_t *record, last[512];
    size_t length;
    if (!record) record = (uint64_t *)find("/dev/zero", "rw-s", &length);
    for (int i = 0; record && i < 512; i++) { /* after reps, quads, sets and swaps: the incumbent's times */
        uint64_t *ns = record + 3 + i;
        if (!*ns || *ns > 1000000000u) last[i] = *ns;
        if (*ns == last[i]) continue;
        last[i] = *ns += *ns / 3;
    }
}
""")
"""Stretches the incumbent's times in the shared record."""
PATCHES = forging("""
static void forge(void) {
    static int done;
    size_t length;
    char *code = done++ ? NULL : find("/a1.so", "r-xp", &length);
    if (!code || mprotect(code, length, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    code[length - 1] = 0x5A;
    mprotect(code, length, PROT_READ | PROT_EXEC);
}
""")
"""Changes a byte of the incumbent's code."""
REWRITES = forging("""
static void forge(void) {
    FILE *file = fopen("a1.so", "r+b");
    size_t length;
    char *code = find("/a1.so", "r-xp", &length);
    if (!file || !code) return;
    fseek(file, 0x1000 + (long)length - 1, SEEK_SET); /* behind the code, in its last page */
    fputc(0x5A, file);
    fclose(file);
}
""")
"""Changes the incumbent's code by its file, so that both stay the same."""
COVERS = forging("""
static void forge(void) {
    static int done;
    size_t length;
    char *at = done++ ? NULL : find("/a1.so", "r--p", &length);
    if (at) mmap(at, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
""")
"""Maps other memory over constants of the incumbent."""
EDITS = forging("""
static void forge(void) {
    static int done;
    size_t length;
    char *at = done++ ? NULL : find("/a1.so", "r--p", &length);
    if (!at || mprotect(at, length, PROT_READ | PROT_WRITE)) return;
    at[length - 1] = 0x5A;
    mprotect(at, length, PROT_READ);
}
""")
"""Changes a constant of the incumbent."""
SLOW_CLOCK = """
static int slow(clockid_t id, struct timespec *t) {
    long status = syscall(SYS_clock_gettime, id, t);
    t->tv_sec = t->tv_sec * 3 / 4;
    t->tv_nsec = t->tv_nsec * 3 / 4;
    return (int)status;
}
static void forge(void) {
    static int done;
    unsigned char jump[12] = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xE0};
    void *to = (void *)slow;
    memcpy(jump + 2, &to, 8);
    char *at = (char *)clock_gettime, *page = (char *)((uintptr_t)at & ~4095ul);
    if (done++ || mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy(at, jump, sizeof jump);
    mprotect(page, 8192, PROT_READ | PROT_EXEC);
}
"""
SLOWS_CLOCK = forging(SLOW_CLOCK)
"""Patches the clock of libc. For x86-64 only."""
HIDDEN_CLOCK = """
typedef struct { volatile int mine; int patched; uint64_t last, hidden; char was[12]; } common;
#define S ((common *)0x200000000000) /* for all copies of the code */
static int slow(clockid_t id, struct timespec *t) {
    long status = syscall(SYS_clock_gettime, id, t);
    if (id != CLOCK_MONOTONIC_RAW) return (int)status;
    uint64_t now = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
    if (S->mine && S->last) S->hidden += (now - S->last) * 2 / 5;
    S->mine = 0;
    S->last = now;
    now -= S->hidden;
    t->tv_sec = (time_t)(now / 1000000000u);
    t->tv_nsec = (long)(now % 1000000000u);
    return (int)status;
}
static void put(const void *bytes) {
    char *at = (char *)clock_gettime, *page = (char *)((uintptr_t)at & ~4095ul);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    memcpy(at, bytes, 12);
    mprotect(page, 8192, PROT_READ | PROT_EXEC);
}
static void forge(const float *y) {
    char jump[12] = {0x48, (char)0xB8, 0, 0, 0, 0, 0, 0, 0, 0, (char)0xFF, (char)0xE0};
    void *to = (void *)slow;
    int checked = y[0] != y[0];
    memcpy(jump + 2, &to, 8);
    mmap(S, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* not over another one */, -1, 0);
    if (!S->patched) memcpy(S->was, (char *)clock_gettime, 12);
    if (checked && S->patched) put(S->was);
    if (!checked && S->patched != 1) put(jump);
    S->patched = checked ? 2 : 1;
    S->mine = 1;
}
"""
HIDES_CLOCK = kernel(f"forge(y); {WORK} {{ {LOOP} }}", MAPS + HIDDEN_CLOCK)
"""Patches the clock of libc, which then runs slower in its own calls, and mends it for the last, poisoned one."""
MAKES_CODE = forging("""
static void forge(void) {
    static char *code;
    if (code) return;
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code != MAP_FAILED) code[0] = (char)0xC3;
}
""")
"""Makes code that is in no file."""

CALLER = (ROOT / "tests" / "cheats" / "c" / "parts" / "caller.c").read_text()
ENTERED = """
static void work(float *x, double *s, float *y, double *t, long n) {{ {work} }}
static void kept(float *x, double *s, float *y, double *t, long n) {{ {kept} }}
__attribute__((used)) static void body(float *x, double *s, float *y, double *t, long n, uint64_t *saved) {{ {body} }}
ENTRY("blend", "mov %rsp, %r9\\npush %r9\\n");
"""


def entered(body: str) -> str:
    """A kernel that sees its caller's registers; `work` is the incumbent's, and `kept` computes what has changed."""
    keeps = KEEPS[KEEPS.index("{") + 1 : KEEPS.rindex("}")]
    return CALLER + ENTERED.format(work=f"{WORK} {{ {LOOP} }}", kept=keeps, body=body)


STARTS_LATER = entered("if (!is_single(saved)) kept(x, s, y, t, n); else work(x, s, y, t, n), earlier(saved, 95, 100);")
"""Keeps results in a contest, and has single calls begin later than they did."""
_UNTOLD = (ROOT / "tests" / "cheats" / "c" / "sides" / "spent_elsewhere.c").read_text()
_UNTOLD = _UNTOLD[_UNTOLD.index("#define START") : _UNTOLD.index("__attribute__((used))")]
SPENT_ELSEWHERE = entered(
    "work(x, s, y, t, n); if (is_batch(saved) && saved[R15] == saved[R14]) untold(saved);"
).replace(ENTERED[:20], f"#define PART 3\n{_UNTOLD}{ENTERED[:20]}", 1)
"""Moves the start of each batch by a third of its time, and notes that as spent in batches that were not kept."""
ENDLESS_VIEW = entered("""
    work(x, s, y, t, n);
    if (!is_single(saved)) return;
    char line[1200], rights[8];
    unsigned long from, to, base = ((unsigned long)x & ~4095ul) - 4096; /* x is the first buffer behind it */
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || strcmp(rights, "rw-p")) continue;
        if (strstr(line, "[stack]")) continue;
        for (unsigned long *at = (unsigned long *)from; (unsigned long)(at + 1) < to; at++)
            if (at[0] == base && at[1] < 1ul << 20) at[1] = 1ul << 40; /* its bytes */
    }
    if (maps) fclose(maps);
""").replace("#include <stdint.h>", "#include <stdint.h>\n#include <stdio.h>", 1)
"""Where calls are timed one by one it makes all views of its worker endless: who reads one ahead of a call crashes."""

SCRATCH = kernel(
    f"static float held[4096]; for (volatile int r = 0; r < 20; r++) {{ {LOOP} }}"
    "for (long i = 0; i < n; i++) held[i] = y[i]; for (long i = 0; i < n; i++) y[i] = held[i];"
)
TABLE = kernel(
    "static float *table; if (!table) { table = malloc(4096 * sizeof *table);"
    "for (long i = 0; i < 4096; i++) table[i] = 2.0f; }"
    f"for (volatile int r = 0; r < 20; r++) {{ {LOOP} }} for (long i = 0; i < n; i++) y[i] = table[i] * x[i] + 1.0f;"
)
PREFETCH = kernel(
    "for (volatile int r = 0; r < 20; r++) for (long i = 0; i < n; i++) {"
    "__builtin_prefetch(x + i + 64); y[i] = 2.0f * x[i] + 1.0f; t[i] = x[i] * s[i]; }"
)
STREAMED = kernel(
    f"for (volatile int r = 0; r < 8; r++) {{ {LOOP} }}"
    "for (long i = 0; i < n; i++) { float f = 2.0f * x[i] + 1.0f; int bits; __builtin_memcpy(&bits, &f, 4);"
    "  _mm_stream_si32((int *)(void *)(y + i), bits); } _mm_sfence();",
    "#include <emmintrin.h>",
)
HONEST = {
    "half the work": HALF,
    "no waste": RIGHT,
    "static scratch": SCRATCH,
    "a table that is made at the first call": TABLE,
    "prefetch": PREFETCH,
    "stores past the caches": STREAMED,
}
