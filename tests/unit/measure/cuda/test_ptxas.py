"""What ptxas says of a build, from toolkits old and new."""

import pytest
from hypothesis import given, strategies as st

from kpd.measure.cuda.ptxas import FunctionResources, metrics, parse, plain_name

# Of CUDA 13.0, for sm_80: a kernel that calls a function which is not inlined, and one with a name of C.
RECORDED = """\
ptxas info    : 40 bytes gmem, 400 bytes cmem[3], 8 bytes cmem[4]
ptxas info    : Compiling entry function '_ZN2ns4innsENS_1QIfLi3EEEPf' for 'sm_80'
ptxas info    : Function properties for _ZN2ns4innsENS_1QIfLi3EEEPf
    176 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers, 176 bytes cumulative stack size, 376 bytes cmem[0]
ptxas info    : Compile time = 4.944 ms
ptxas info    : Function properties for _Z3devPfi
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Compiling entry function 'cname' for 'sm_80'
ptxas info    : Function properties for cname
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 1 barriers, 128 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 1.201 ms
"""
# Of CUDA 11: no barriers, no time, several banks of constants, shared memory in two parts.
OLDER = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5tiledPKfPfii' for 'sm_70'
ptxas info    : Function properties for _Z5tiledPKfPfii
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers, 4096+16 bytes smem, 376 bytes cmem[0], 8 bytes cmem[2]
"""


def test_every_function_is_told() -> None:
    inns, dev, cname = parse(RECORDED)
    assert inns == FunctionResources("_ZN2ns4innsENS_1QIfLi3EEEPf", "inns", 32, stack=176)
    assert dev == FunctionResources("_Z3devPfi", "dev", None, stack=8, spill_stores=12, spill_loads=16)
    assert cname == FunctionResources("cname", "cname", 12, shared=128)


def test_older_toolkits_are_read_too() -> None:
    (tiled,) = parse(OLDER)
    assert tiled == FunctionResources("_Z5tiledPKfPfii", "tiled", 30, shared=4112)


def test_the_metrics_are_the_largest_of_any_function() -> None:
    assert metrics(parse(RECORDED + OLDER)) == {
        "ptxas_registers": 32, "spill_store_bytes": 12, "spill_load_bytes": 16, "stack_bytes": 176,
        "static_shared_bytes": 4112,
    }  # fmt: skip
    assert metrics(parse("nvcc fatal   : no\n")) == {}


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z1k3Foo", "k"),
        ("_Z2k3IfLi3EEvPT_", "k3"),
        ("_ZN39_GLOBAL__N__f34756bb_7_unit_cu_f119bb944anonEPf", "anon"),
        ("_ZNK1a1b1cEv", "c"),
        ("softmax", "softmax"),
        ("_Z", "_Z"),
        ("_Z99short", "_Z99short"),
        ("_ZN", "_ZN"),
    ],
)
def test_names_without_their_types(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


@given(
    st.lists(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,40}", fullmatch=True), min_size=1, max_size=4), st.text("PfiKvE")
)
def test_the_last_name_of_a_symbol_is_its_own(names: list[str], types: str) -> None:
    pieces = "".join(f"{len(name)}{name}" for name in names)
    nested = len(names) > 1
    assert plain_name(f"_Z{'N' if nested else ''}{pieces}{'E' if nested else ''}{types}") == names[-1]


NUMBERS = st.integers(0, 10**6)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=5))
def test_what_is_said_comes_back(kernels: list[tuple[int, ...]]) -> None:
    said = "".join(
        f"ptxas info    : Compiling entry function 'k{number}' for 'sm_90'\n"
        f"ptxas info    : Function properties for k{number}\n"
        f"    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads\n"
        f"ptxas info    : Used {registers} registers, {shared} bytes smem\n"
        for number, (registers, stack, stores, loads, shared) in enumerate(kernels)
    )
    found = parse(said)
    assert [(f.registers, f.stack, f.spill_stores, f.spill_loads, f.shared) for f in found] == kernels
    assert metrics(found).get("spill_load_bytes", 0) == max((kernel[3] for kernel in kernels), default=0)


@given(st.lists(st.sampled_from([*RECORDED.splitlines(), *OLDER.splitlines(), "", "x", "ptxas info : Used x"])))
def test_lines_in_any_order_are_read_without_trouble(lines: list[str]) -> None:
    metrics(parse("\n".join(lines)))
