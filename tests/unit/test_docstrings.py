"""The docstring of a function says what to do, in the imperative: it begins with none of the words that cannot."""

import re
from collections.abc import Iterator

from tests.places import ROOT
from tests.support.statements import Function, Statements, of_file, product, statements

WORDS = """
a an the this that these those it its they their there he she we you i
what whether how why which where who whoever whom whose when whenever while until till once because since if
as of by with without within from for in into at on onto below above beside before after between among to than
under over out up down behind per via
one two all any each every both either neither no not none nothing nobody somebody everything everybody everyone
some so such many more most much few least only also
"""
"""Words with which no imperative begins."""
NOT_IMPERATIVE = frozenset(WORDS.split())
PROPERTIES = frozenset({"property", "cached_property"})


def strays(found: Statements) -> Iterator[str]:
    for function in found.functions:
        if function.docstring is None or is_property(function):
            continue
        begins = re.match(r"[A-Za-z]+", function.docstring)
        if begins is None or begins[0].lower() in NOT_IMPERATIVE:
            yield f"{function.name}: {function.docstring.splitlines()[0]}"


def is_property(function: Function) -> bool:
    return not PROPERTIES.isdisjoint(name.rpartition(".")[2] for name in function.decorators)


def test_the_docstring_of_a_function_begins_with_a_verb() -> None:
    assert [f"{path.relative_to(ROOT)}: {stray}" for path in product() for stray in strays(of_file(path))] == []


def test_the_test_finds_what_is_no_verb_and_nothing_else() -> None:
    source = '''
def first():
    """The sum."""

async def second():
    """`count` of them."""

def third():
    """Return the sum."""

def fourth(): ...

class Fifth:
    """One of five."""

    @property
    def sum(self):
        """The sum."""

    @functools.cached_property
    def product(self):
        """The product."""

    def told(self):
        """None where there is none."""
'''
    assert list(strays(statements(source))) == [
        "first: The sum.",
        "second: `count` of them.",
        "told: None where there is none.",
    ]
