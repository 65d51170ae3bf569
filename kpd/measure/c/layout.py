"""Links a kernel's object anew for each timed process, so that its functions and static data lie elsewhere.

Where a loop happens to lie can be worth more than an optimisation (Mytkowicz et al. 2009), so a time means something
only as an average over layouts (Curtsinger and Berger 2013). The compiler puts each function and each variable into a
section of its own. A build then copies the object under other names of the kernel's symbol; one link puts all copies
into one file, each with its sections in another order and with gaps between them. So one process times many layouts for
the price of one link.
"""

from kpd.hosts.host import Host
from kpd.measure import jobs
from kpd.measure.c.toolchain import CToolchain
from kpd.measure.driver.pairs import PLACING, PlaceObject
from kpd.measure.objects.inspect import OBJECT_FILE

OWN = ("-ffunction-sections", "-fdata-sections")
"""The flags of a build that make sections small enough to be moved."""
COPIES = 16
"""Layouts of a kernel in one process; `MAX_LAYOUTS` of native/driver.h is the same number."""
COPIED_BYTES = 4 << 20
"""The most bytes of all copies of an object together: an object with large tables gets fewer copies."""
SECTIONS = "sections.txt"
NO_OBJCOPY = 127
"""The exit status of a build that misses objcopy: that of a shell which misses a program."""
_NAMED = r"s/^[[:space:]]*\.section[[:space:]]*\(\.\(text\|rodata\|data\|bss\)\.[A-Za-z0-9_.]*\),.*/\1/p"
"""Sections with other names, which only a candidate's own attributes make, stay where the linker puts them."""
_BEGINNINGS = "".join(
    f" {file}({what})"
    for what in ("SORT_BY_INIT_PRIORITY(.init_array.*)", ".init_array")
    for file in (f"*{OBJECT_FILE}", "*copy?.o", "*copy??.o")
)
BEGINS = (
    f"SECTIONS {{ .kpd_begins : {{ kpd_begins = .;{_BEGINNINGS} kpd_begins_end = .; }} }} INSERT BEFORE .init_array;"
)
"""A linker script: what a kernel asks to have called when it is loaded, which the system's loader would call at once.

The driver calls it once the objects are noted and no more code can be made (native/cpu.c), as it calls a kernel. The
sections of compilers and libraries stay where they are.
"""
_SCRIPT = """
BEGIN { srand(seed); count["text"] = 0 }
{ split($1, part, "."); name[part[2], ++count[part[2]]] = $1 }
END { for (kind in count) {
  printf "SECTIONS { .%s.layout : {", kind
  for (copy = 0; copy < copies; copy++) {
    printf " . += %d;", 16 * int(rand() * 256)
    for (i = count[kind]; i > 0; i--) {
      at = int(rand() * i) + 1; drawn = name[kind, at]; name[kind, at] = name[kind, i]; name[kind, i] = drawn
      printf " *copy%d.o(%s) . += %d;", copy, drawn, 16 * int(rand() * 16) } }
  printf " } } INSERT BEFORE .%s;\\n", kind } }
"""
"""awk: from the sections' names a linker script. Gaps are multiples of 16 bytes, the alignment of a function: a copy
begins anywhere in a page, and up to 240 bytes lie between its sections. A section keeps the alignment that it asks
for."""


def copy_object(object: str, assembly: str, symbol: str) -> str:
    """Return shell that makes the copies of `object` in `$out`, and the list of sections of `assembly`.

    The first two are words of a shell. All symbols but the kernel's become local to each copy, so that a copy calls its
    own functions; the kernel's is `symbol`.0, `symbol`.1 and so on. Of C++'s inline functions a linker keeps one of a
    group of equal ones: without its groups each copy keeps its own.
    """
    absent = "objcopy: not found: install GNU binutils"
    renamed = f'"{symbol}.$n"'
    return (
        f"command -v objcopy >/dev/null || {{ echo '{absent}' >&2; exit {NO_OBJCOPY}; }}\n"
        f'sed -n {jobs.words([_NAMED])} {assembly} | sort -u >"$out/{SECTIONS}"\n'
        f"copies=$(({COPIED_BYTES} / $(wc -c <{object}))) n=0\n"
        f'while [ "$n" -lt {COPIES} ] && [ "$n" -lt "$copies" ] || [ "$n" -eq 0 ]; do\n'
        f"  objcopy --remove-section=.group --redefine-sym {symbol}={renamed} --keep-global-symbol={renamed} {object}"
        ' "$out/copy$n.o" || exit 1\n'
        "  n=$((n + 1))\n"
        "done\n"
    )


def link(tools: CToolchain, folder: str, seed: str, to: str) -> str:
    """Return shell that links the copies in `folder` as `to`, in the layouts that `seed` draws; all three are words."""
    places = f"awk -v seed={seed} -v copies=$# {jobs.words([_SCRIPT])} {folder}/{SECTIONS}"
    linked = _linked(tools, '"$@"', to, places)
    return f"(set -- {folder}/copy*.o; {linked})"


def link_plain(tools: CToolchain, object: str, to: str) -> str:
    """Return shell that links `object` as `to`, both words, as the compiler lays it out."""
    return f"{{ {_linked(tools, object, to, ':')}; }}" if tools.places else tools.link(object, to)


def _linked(tools: CToolchain, objects: str, to: str, places: str) -> str:
    """Return shell that links by the script that the command `places` prints, and by BEGINS."""
    script = f"{{ {places} && echo {jobs.words([BEGINS])}; }} >{to}.ld"
    return f"{script} && {tools.link(objects, to)} -T {to}.ld && rm {to}.ld"


def placed(host: Host, tools: CToolchain) -> PlaceObject | None:
    """Return how a timed process gets its objects: linked anew. None on macOS, whose linker takes no such scripts."""
    if not tools.places:
        return None

    def place(built: str, to: str, seed: str) -> str:
        folder = jobs.words([jobs.out(host, built, "")]).rstrip("/")
        there = f"[ -e {folder}/{SECTIONS} ] || exit {jobs.GONE}"
        return f"{there}; {link(tools, folder, seed, to)} || exit {PLACING}"

    return place
