"""Finds out which editable file a fenced block of a reply holds."""

import re
import unicodedata
from collections.abc import Collection, Iterator

from kpd.agents.agent import BadReply
from kpd.agents.fences import FencedBlock
from kpd.text.foreign import plain
from kpd.workspace.languages import syntax_of
from kpd.workspace.task import Task

LONGEST_LINE = 300
"""Characters of a line that are searched for a path."""
_PATCHES = ("diff", "patch")
_PATCH = re.compile(r"\s*(?:diff --git |--- \S+\n\+\+\+ |@@ -\d)")
_FIRST_COMMENT = re.compile(
    r"\s*(?://+|#+|/\*+|<!--|--)[\s=*-]*(?:(?:file|path)(?:name)?\s*:\s*)?([^\s=*>]+)[\s=*/>-]*", re.IGNORECASE
)
_PATH_LIKE = re.compile(r"[^\s/\\]*[/\\]\S*|[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,9}")

_NAME_LIKE = re.compile(r"[\w./\\~+-]*\w\.[A-Za-z]\w{0,9}")


def named_path(block: FencedBlock, task: Task) -> str | None:
    """Return the editable file that a block names: behind its fence, in the line above, or in a first comment.

    None where it names none. Raises BadReply for any other file, and for a patch.
    """
    for word in _words(block.info):
        if (path := _editable(word, task, new=True)) is not None:
            return _whole(block, path)
        if _PATH_LIKE.fullmatch(word) or _is_disguised(word):
            raise _stranger(word, block, task)
    above = [word for word in _words(block.above) if word.lower() not in ("file", "path")]
    comment = first_comment(block.content)
    for words in (above, [comment]):
        alone = len(words) == 1
        path, *more = {path for word in words if (path := _editable(word, task, new=alone)) is not None} or {""}
        if path and not more and fits(path, block.language):
            return _whole(block, path)
    if disguised := next((word for word in (*above[:1], comment) if _is_disguised(word)), ""):
        raise _stranger(disguised, block, task)
    if any(fits(path, block.language) for path in task.editable):
        if len(above) == 1 and _PATH_LIKE.fullmatch(above[0]) and _editable(above[0], task) is None:
            raise _stranger(above[0], block, task)
        if comment.removeprefix("./") in task.protected:
            raise _stranger(comment, block, task)
    return None


def guess_paths(blocks: list[FencedBlock], known: Collection[str], task: Task) -> list[tuple[str, FencedBlock]]:
    """Match blocks that name no file to files where only one match is possible.

    That is where one block and one file fit each other and nothing else. `known` are the files that other blocks name:
    a block that could be one of these is taken for an excerpt. Raises BadReply when no file is known at all and blocks
    remain that could be one.
    """
    missing = [path for path in task.editable if path not in known]
    free = [block for block in blocks if not any(fits(path, block.language) for path in known)]
    found = []
    for path in missing:
        others = [other for other in missing if other != path]
        fitting = [each for each in free if fits(path, each.language)]
        certain = [each for each in fitting if not any(fits(other, each.language) for other in others)]
        if len(certain) == 1:
            found.append((_whole(certain[0], path), certain[0]))
    doubtful = [block.line for block in free if any(fits(path, block.language) for path in missing)]
    if doubtful and not found and not known:
        lines, files = ", ".join(map(str, doubtful[:5])), " or ".join(missing)
        raise BadReply(f"nothing says which block (line {lines}) is {files}: put the path after the opening fence")
    return found


def fits(path: str, language: str) -> bool:
    """Return whether a block in this language may be that file; a block without a language may be any."""
    return not language or syntax_of(path).fits(language)


def first_comment(content: str) -> str:
    """Return the word that may be a path, where the first line is a comment with nothing else; else an empty text."""
    found = _FIRST_COMMENT.fullmatch(content.lstrip("\n").partition("\n")[0][:LONGEST_LINE])
    return found[1] if found else ""


def without_path_comment(path: str, content: str, before: bytes) -> str:
    """Remove a first comment that only names the file, unless the incumbent begins with it, too."""
    first, newline, rest = content.lstrip("\n").partition("\n")
    own = first_comment(content).removeprefix("./") == path
    return rest if own and newline and not before.startswith(first.encode()) else content


def _whole(block: FencedBlock, path: str) -> str:
    """Return `path`. Raises BadReply if the block is a patch of that file."""
    if block.language in _PATCHES or _PATCH.match(block.content):
        raise BadReply(f"{path} (line {block.line}) is a patch; give the whole file")
    return path


def _words(text: str) -> Iterator[str]:
    """Yield the words of an info string, or of a line of prose, that may be paths."""
    words = re.split(r"[\s:=\"'{},()`*]+", text[:LONGEST_LINE])
    return (word for each in words if (word := each.strip("[]<>#").rstrip(".,;!?")))


def _editable(word: str, task: Task, new: bool = False) -> str | None:
    """Return the editable file with this path, or the only one with this name; else None. It may be a `new` one."""
    path = word.removeprefix("./").removeprefix(f"{task.name}/")
    if path in task.editable:
        return path
    same = [each for each in task.editable if each.endswith(f"/{path}")]
    if len(same) == 1 and "/" not in path and path not in task.protected:
        return same[0]
    return path if new and _PATH_LIKE.fullmatch(path) and task.allows(path) else None


def _is_disguised(word: str) -> bool:
    """Return whether the word looks like a file's name only because of letters that others could take for ASCII.

    It has invisible or control characters, marks that turn the direction of text, or letters of other alphabets.
    """
    if word.isascii() and word.isprintable():
        return False
    seen = (char for char in unicodedata.normalize("NFKC", word) if not unicodedata.category(char).startswith("C"))
    return _NAME_LIKE.fullmatch("".join(char if char.isascii() else "x" for char in seen)) is not None


def _stranger(word: str, block: FencedBlock, task: Task) -> BadReply:
    return BadReply(f"{plain(word, 80)!r} (line {block.line}) is not an editable file; editable are {task.told}")
