"""Splits Markdown into fenced code blocks, exact to the character, and the lines around them."""

import re
from dataclasses import dataclass, field

from kpd.agents.agent import BadReply
from kpd.text.foreign import plain

MOST_BLOCKS = 200
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^\n]*)")


@dataclass(slots=True)
class FencedBlock:
    """A fenced block. `info` is the text behind the opening fence, which is in line `line`.

    `above` is the last line with words before the block.
    """

    line: int
    info: str
    above: str
    fence: str
    content: str = ""

    @property
    def language(self) -> str:
        """The first word behind the fence, in lower case and up to a colon; empty without one."""
        first = self.info.lower().split(maxsplit=1)[:1]
        return first[0].partition(":")[0] if first else ""


@dataclass(slots=True)
class FencedText:
    """A text split into fenced blocks and the lines `around` them, both in order."""

    blocks: list[FencedBlock] = field(default_factory=list)
    around: list[str] = field(default_factory=list)


def split_fences(text: str) -> FencedText:
    """Split a text into its fenced blocks and the lines around them.

    A block ends at a fence of the same kind that is at least as long and has nothing behind it. The indentation of an
    opening fence is removed from every line of the block. Raises BadReply for a block that does not end, or that seems
    to contain another opening fence: its content is then uncertain.
    """
    taken = FencedText()
    block: FencedBlock | None = None
    inside: list[str] = []
    indent, above = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = _FENCE.fullmatch(line) if "```" in line or "~~~" in line else None
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
