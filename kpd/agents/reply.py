"""Parses an agent's reply: strictly where a mistake would be measured, tolerantly elsewhere.

Only its files, its memo and its expectation are read. Times that it claims are ignored: kpd measures them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kpd.agents import space
from kpd.agents.agent import BadReply
from kpd.agents.block_paths import guess_paths, named_path, without_path_comment
from kpd.agents.fences import FencedBlock, split_fences
from kpd.agents.reply_notes import begins, is_tune, read_notes, tune, unfenced_tune
from kpd.model.iteration import Expectation
from kpd.source.text import plain_code
from kpd.text.foreign import plain
from kpd.workspace.sections import SectionError, marked, split
from kpd.workspace.task import Task

FORMAT = """\
MEMO: [rule-id, ...] what you changed and why, in one line
EXPECT: metric up|down, gain N %

Then each file that you change, complete, in a fenced block of its own, with its path after the opening fence:

```cuda kernel.cu
(the whole file)
```

Of a file with a KERNEL SECTION give the text of that section alone, or the whole file. Leave nothing out, not even what
stays as it was: a file with a comment in place of code is refused. Keep every function that other files call, with its
signature, namespace and template parameters. Where a file has a line that begins with ```, use a longer fence.
"""
"""The form of a reply, as the prompt describes it."""

TREE = """\
You may also add files and remove them in %s. Give a new file like the others, with its path after the opening fence. A
line of its own removes a file:

REMOVE: path
"""
"""An addition to it, for a task with such places."""

SEARCH = """\
Parameters that you are unsure of may be left to a search: make each a macro (`#define NAME value`) or a constant
(`NAME = value`) of the file, and add a block of the values to try, the file's own among them:

```toml
[tune]
NAME = [1, 2, 4]
```
"""
"""An addition to it, in a run in which a sweep takes turns."""

LONGEST = 4 << 20
"""Characters of a reply."""
LARGEST = 1 << 20
"""Bytes of a file."""


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply's content. `files` are whole editable files, or the kernel section alone of one in sections.

    `tune` are the parameters that it leaves to a sweep, `removed` are files that the candidate is to lack.
    """

    memo: str
    aims: tuple[str, ...]
    expected: Expectation | None
    files: dict[str, bytes]
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def parse(
    text: str, task: Task, incumbent: Mapping[str, bytes], failed: Mapping[str, bytes] | None = None
) -> ParsedReply:
    """Parse a reply that changes `incumbent`, or that repairs the candidate `failed`. Files get LF line endings.

    Raises BadReply, which says what to do instead.
    """
    if len(text) > LONGEST:
        raise BadReply(f"the reply has {len(text)} characters; {LONGEST} are the most")
    text = text.encode(errors="replace").decode().removeprefix("\ufeff").replace("\r\n", "\n")
    taken = split_fences(text)
    around, left = list(taken.around), unfenced_tune(taken.around)
    known: list[tuple[str, FencedBlock]] = []
    unnamed: list[FencedBlock] = []
    for block in taken.blocks:
        if (path := named_path(block, task)) is not None:
            known.append((path, block))
        elif begins(block.content):
            around += block.content.split("\n")
        elif is_tune(block.content):
            left = block.content
        else:
            unnamed.append(block)
    known += guess_paths(unnamed, {path for path, _ in known}, task)
    start = failed or incumbent
    files, said = dict(_files(known, start)), read_notes(around)
    named = said.removed if task.areas else ()
    if not files and not named:
        raise BadReply(_no_file(task))
    for path in named:
        if path in files or (path not in start and path not in incumbent):
            why = "is both given and removed" if path in files else "cannot be removed: there is no such file"
            raise BadReply(f"{plain(path, 80)} {why}")
    removed = tuple(path for path in named if path in start)  # a repair may say again what its candidate lacks already
    whole = {path: data for path, data in {**start, **files}.items() if path not in removed}
    if failed and _unchanged(task, whole, start):
        raise BadReply("nothing is changed: the files are those of the candidate that failed")
    if _unchanged(task, whole, incumbent):
        mend = ": mend the candidate instead of giving it up" if failed else ""
        raise BadReply(f"nothing is changed: the files are the incumbent's own{mend}")
    space_left = tune(left) if left else {}
    _findable(task, whole, space_left)
    return ParsedReply(said.memo, said.aims, said.expected, files, space_left, removed)


def _no_file(task: Task) -> str:
    return (
        "no file is in the reply: give each that you change, whole, in a fenced block with its path after the opening "
        f"fence; editable are {task.told}"
    )


def _files(known: list[tuple[str, FencedBlock]], incumbent: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield each file once, as it will be built. Raises BadReply."""
    seen: dict[str, tuple[int, bytes]] = {}
    for path, block in known:
        content = without_path_comment(path, block.content, incumbent.get(path, b"")).removeprefix("\ufeff")
        data = plain_code(path, content).encode()
        if not data.strip():
            raise BadReply(f"{path} (line {block.line}) is empty; give the whole file")
        if len(data) > LARGEST:
            raise BadReply(f"{path} has {len(data)} bytes; {LARGEST} are the most")
        line, before = seen.setdefault(path, (block.line, data))
        if before != data:
            raise BadReply(f"{path} stands twice, in lines {line} and {block.line}: give each file once")
    yield from ((path, data) for path, (_, data) in seen.items())


def _unchanged(task: Task, files: Mapping[str, bytes], before: Mapping[str, bytes]) -> bool:
    return files.keys() == before.keys() and all(_same(task, path, data, before[path]) for path, data in files.items())


def _same(task: Task, path: str, data: bytes, before: bytes) -> bool:
    """Return whether the file is unchanged, apart from white space at the ends of lines and of the file."""
    if path == task.sectioned and not marked(data):
        try:
            before = split(before).kernel
        except SectionError:
            return False
    return _lines(data) == _lines(before)


def _lines(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.strip().splitlines()]


def _findable(task: Task, files: dict[str, bytes], left: dict[str, tuple[str, ...]]) -> None:
    """Raise BadReply for a parameter that no file has, and for a value that cannot be written into one."""
    try:
        space.read_point(replace(task, tune=left), files)
    except space.SpaceError as err:
        raise BadReply(plain(str(err))) from err
