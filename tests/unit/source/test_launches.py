"""Grid and block of launches in host code of many shapes: the right size, or an explicit refusal, never a wrong one."""

import re
from typing import NamedTuple

import pytest

from kpd.source.launches import launches, resolve
from kpd.source.source import Source
from tests.places import DATA

LAUNCHES = DATA / "source" / "launches.txt"
BODY = "void run(const float *x, float *y, int n, int m, cudaStream_t stream) {{ {0} }}"


class Shape(NamedTuple):
    """A wrapper, and what it launches: sizes, or a pattern for the reason why one is not known."""

    source: str
    grid: tuple[int, ...] | str
    block: tuple[int, ...] | str
    known: dict[str, int]


def shapes() -> dict[str, Shape]:
    """Every section of the file, by its title."""
    found = {}
    for section in LAUNCHES.read_text().split("\n=== ")[1:]:
        title, _, rest = section.partition("\n")
        head, _, source = rest.partition("\n---\n")
        said = dict(line.split(": ", 1) for line in head.split("\n"))
        known = {name: int(value) for name, value in (word.split("=") for word in said.get("known", "").split())}
        found[title] = Shape(source, _wanted(said["grid"]), _wanted(said["block"]), known)
    return found


def _wanted(said: str) -> tuple[int, ...] | str:
    return said[2:] if said.startswith("? ") else tuple(map(int, said.split()))


SHAPES = shapes()


def _check(extent, wanted: tuple[int, ...] | str) -> None:
    if isinstance(wanted, str):
        assert extent.size is None
        assert re.search(wanted, extent.why), extent.why
    else:
        assert extent.size == (*wanted, 1, 1)[:3], extent.why


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_launch_has_its_geometry_or_a_reason(shape: Shape) -> None:
    source = Source.of(shape.source, "host.cu")
    [launch] = launches(source)
    assert (launch.kernel, launch.why) == ("k", "")
    grid, block = resolve(source, launch, shape.known)
    _check(grid, shape.grid)
    _check(block, shape.block)


def test_there_are_launches_of_many_shapes() -> None:
    known = [shape for shape in SHAPES.values() if not isinstance(shape.block, str) and not isinstance(shape.grid, str)]
    assert len(known) >= 40
    assert len(SHAPES) - len(known) >= 40


HOPELESS = {
    "brackets without end": ("", f"{'(' * 5000}1{')' * 5000}", "nested too deeply"),
    "doubled sixty times": (
        "constexpr int a0 = 1;\n" + "".join(f"constexpr int a{i} = a{i - 1} + a{i - 1} - 1;\n" for i in range(1, 60)),
        "a59", "too many steps",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "block", "why"), HOPELESS.values(), ids=HOPELESS)
def test_what_would_take_for_ever_is_given_up(before: str, block: str, why: str) -> None:
    source = Source.of(before + BODY.format(f"k<<<1, {block}>>>(x);"))
    [launch] = launches(source)
    assert why in resolve(source, launch, {})[1].why


def test_a_launch_has_its_template_arguments_shared_memory_and_stream() -> None:
    text = BODY.format("ns::k<float, 2 * 4><<<n, 64, sizeof(float) * n, stream>>>((float *)x, y + 1, min(n, m));")
    [launch] = launches(Source.of(text, "host.cu"))
    assert launch.template == ("float", "2 * 4")
    assert launch.arguments == ("(float *)x", "y + 1", "min(n, m)")
    assert (launch.shared, launch.stream, launch.place) == ("sizeof(float) * n", "stream", "host.cu:1")


UNNAMED = {
    "a pointer": ("(*table[i])<<<1, 32>>>(x);", "computed"),
    "a parameter": ("n<<<1, 32>>>(x);", "n is a parameter"),
    "one of two": ("auto f = n ? k : j; f<<<1, 32>>>(x);", "may be one of several"),
}


@pytest.mark.parametrize(("body", "why"), UNNAMED.values(), ids=UNNAMED)
def test_a_kernel_that_cannot_be_told_is_said_to_be_unknown(body: str, why: str) -> None:
    [launch] = launches(Source.of(BODY.format(body)))
    assert launch.kernel == ""
    assert why in launch.why


def test_a_macro_that_cannot_be_followed_does_not_hide_its_launch() -> None:
    source = "#define GO(name) name##_kernel<<<1, 32>>>(0)\nvoid f() { GO(k); }"
    [launch] = launches(Source.of(source))
    assert (launch.kernel, launch.place) == ("", "line 2")
    assert "pastes its arguments" in launch.why


def test_all_launches_are_found_in_order() -> None:
    text = BODY.format("if (n) a<<<1, 32>>>(x); else { b<<<2, 64>>>(x); } for (;;) c<<<3, 96>>>(x);")
    assert [launch.kernel for launch in launches(Source.of(text))] == ["a", "b", "c"]


def test_shifts_and_templates_are_no_launches() -> None:
    text = BODY.format("int a = n << 3 >> 2; Vec<Vec<Vec<int>>> v; std::cout << n << m; bool b = n < m, c = n > m;")
    assert launches(Source.of(text)) == ()
