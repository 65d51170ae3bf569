"""Splits Markdown into fenced code blocks, exact to the character, and the lines around them."""

import re
from dataclasses import dataclass, field

from kpd.agents.agent import BadReply
from kpd.text.foreign import plain

MOST_BLOCKS = 200
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^\n]*)")


@dataclass(slots=True)
class FencedBlock:
    """`info` stands behind the opening fence, in line `line`; `above` is the last line with words before it."""

    line: int
    info: str
    above: str
    fence: str
    content: str = ""

    @property
    def language(self) -> str:
        """The first word behind the fence, empty without one that is a language's."""
        first = self.info.lower().split(maxsplit=1)[:1]
        return first[0].partition(":")[0] if first else ""


@dataclass(slots=True)
class FencedText:
    """`around` are the lines outside of all blocks, in order."""

    blocks: list[FencedBlock] = field(default_factory=list)
    around: list[str] = field(default_factory=list)


def split_fences(text: str) -> FencedText:
    """Return the blocks in order. A block ends at a fence of its own kind, at least as long, and nothing behind it.

    An indented fence has as much less of every line's indentation. Raises BadReply for a block that does not end, or in
    which another seems to begin: nobody can say what is in it.
    """
    taken = FencedText()
    block: FencedBlock | None = None
    inside: list[str] = []
    indent, above = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.fullmatch(line)
        if block is None:
            if fence is not None and not (fence[2][0] == "`" and "`" in fence[3]):
                block, inside, indent = FencedBlock(number, fence[3].strip(), above, fence[2]), [], len(fence[1])
                above = ""
            else:
                taken.around.append(line)
                above = line.strip() or above
        elif fence is not None and fence[2].startswith(block.fence):
            if fence[3].strip():
                raise BadReply(
                    f"{_name(block)} holds another opening fence, in line {number}: close it first, or use more than "
                    f"{block.fence} where that is a line of the file"
                )
            block.content = "".join(f"{each}\n" for each in inside)
            taken.blocks.append(block)
            if len(taken.blocks) > MOST_BLOCKS:
                raise BadReply(f"the reply has more than {MOST_BLOCKS} blocks; give each file once")
            block = None
        else:
            blanks = len(line) - len(line.lstrip(" \t")) if indent else 0
            inside.append(line[min(indent, blanks) :])
    if block is not None:
        raise BadReply(
            f"{_name(block)} is never closed: give the whole file, and {block.fence} in a line of its own after it"
        )
    return taken


def _name(block: FencedBlock) -> str:
    return f"the block that begins in line {block.line} ({plain(block.info, 60) or 'unnamed'})"
