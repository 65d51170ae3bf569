"""Names of kernels, as demanglers print them, and what a person may call them."""

import pytest

from kpd.production.observe.names import called, read_name


@pytest.mark.parametrize(
    ("demangled", "qualified", "template", "types"),
    [
        ("every_scalar(float*, bool, unsigned char)", "every_scalar", "", ("float*", "bool", "unsigned char")),
        ("void scale<float, 4>(float*, float, int)", "scale", "<float, 4>", ("float*", "float", "int")),
        ("imaging::transpose(float*, float const*, int, int)", "imaging::transpose", "", None),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f", "", ("int",)),
        ("void a::b<(a::Mode)2>::k<std::pair<int, float> >(c<int, 2>)", "a::b<(a::Mode)2>::k",
         "<std::pair<int, float> >", ("c<int, 2>",)),
        ("apply(float (*)(float, int), int [3])", "apply", "", ("float (*)(float, int)", "int [3]")),
        ("nothing()", "nothing", "", ()),
    ],
)  # fmt: skip
def test_a_demangled_name_is_taken_apart(
    demangled: str, qualified: str, template: str, types: tuple[str, ...] | None
) -> None:
    found = read_name("_Zsymbol", demangled)
    assert (found.qualified, found.template) == (qualified, template)
    assert types is None or found.types == types


@pytest.mark.parametrize("demangled", ["", "saxpy"])
def test_a_symbol_that_is_not_mangled_tells_no_types(demangled: str) -> None:
    found = read_name("saxpy", demangled)
    assert (found.qualified, found.types, found.shown) == ("saxpy", None, "saxpy")


NAMES = {
    "_Z5scaleIfLi4EEvPT_S0_i": "void scale<float, 4>(float*, float, int)",
    "_Z5scaleIdLi2EEvPT_S0_i": "void scale<double, 2>(double*, double, int)",
    "_ZN7imaging9transposeEPfPKfii": "imaging::transpose(float*, float const*, int, int)",
    "_Z9transposePf": "transpose(float*)",
    "saxpy": "saxpy",
    "_Z4fillI5ArrayLm3EEvv": "void fill<Array, (unsigned long)3>()",
    "_Z4fillI5ArrayLm4EEvv": "void fill<Array, 4ul>()",
}


@pytest.mark.parametrize(
    ("wanted", "count"),
    [("scale", 2), ("scale<float,4>", 1), ("scale<double, 2>", 1), ("_Z9transposePf", 1), ("imaging::transpose", 1),
     ("transpose", 2), ("saxpy", 1), ("axpy", 0), ("pose", 0), ("", 0),
     ("fill<Array, 3>", 1), ("fill<Array, (unsigned long)4>", 1), ("fill<Array, 5>", 0)],
)  # fmt: skip
def test_a_kernel_is_called_by_its_name_with_or_without_more(wanted: str, count: int) -> None:
    assert len(called(NAMES, wanted)) == count
