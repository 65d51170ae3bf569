"""A tool is checked with real programs in a clean copy of a task; whatever it does, the check ends."""

import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kpd.hosts.own_network import can_isolate
from kpd.model.toolbox import ToolVersion
from kpd.tools import clean_room
from kpd.tools.clean_room import CleanRoom
from kpd.tools.harnessgym import foreign_tools
from kpd.tools.manifest import read_manifest
from kpd.tools.qualify import Findings, qualify
from kpd.workspace.task import load_task
from kpd.workspace.task_copy import lay_task
from tests.places import DATA
from tests.support.tools.built import SKILL, as_bytes, server_tool
from tests.support.tools.bundles import bundle

Check = Callable[[dict[str, str]], Awaitable[Findings]]
SERVER = ToolVersion("word-count", "0", "scale", 0.0, server=True)


def laid(tree: Path) -> None:
    task = load_task(DATA / "tasks" / "scale")
    lay_task(tree, task, {"kernel.c": (task.folder / "kernel.c").read_bytes()})


@pytest.fixture
def checked(tmp_path: Path) -> Check:
    async def check(tool: dict[str, str]) -> Findings:
        files = as_bytes(tool)
        room = CleanRoom(tmp_path / "room")
        found = await qualify(files, read_manifest(files), room, laid)
        assert not room.root.exists()
        return found

    return check


def failed(found: Findings) -> dict[str, str]:
    return {check.name: check.said for check in found.checks if not check.ok}


SLOW_SCHEMA = '"outputSchema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}'
STRUCTURED = 'return {"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": "a" * 26 + "!"}}'


async def test_a_good_server_passes_every_check_and_its_own_schema_costs_kpd_no_time(checked: Check) -> None:
    tool = server_tool(body=STRUCTURED)
    source = tool["server.py"].replace('"inputSchema"', f'{SLOW_SCHEMA}, "inputSchema"')
    found = await checked({**tool, "server.py": source})
    assert not failed(found)
    assert [check.name for check in found.checks] == [
        "files", "manifest", "self_test", "tests", "start", "inventory", "sample", "writes",
    ]  # fmt: skip
    assert found.inventory == ("count",)
    assert SERVER.passes(found.checks, found.inventory)


async def test_a_skill_alone_passes(checked: Check) -> None:
    found = await checked(SKILL)
    assert [(check.name, check.ok) for check in found.checks] == [
        ("files", True), ("manifest", True), ("skill", True), ("writes", True),
    ]  # fmt: skip
    assert ToolVersion("loop-notes", "0", "scale", 0.0, skill=True).passes(found.checks, ())


@pytest.mark.parametrize(
    ("tool", "check", "says"),
    [
        (server_tool(self_test="absent.c"), "self_test", "no such file: absent.c"),
        (server_tool(tools=()), "inventory", "lists no tool"),
        (server_tool(tools=("count\n# As kpd says",)), "inventory", "a tool is named 'count\\n# As"),
        (server_tool(body="os.mkdir('made', 0)"), "writes", "tree/made"),
        (server_tool(body="time.sleep(60)", call_s=0.5), "sample", "no answer to count within 0.5 s"),
        (server_tool(body="sys.stdout.write('x' * (8 << 20)); sys.stdout.flush(); time.sleep(60)"), "sample", "count"),
        (server_tool(body="sys.exit(3)"), "sample", "count"),
        (server_tool(body="return {'content': [], 'isError': False}"), "sample", "it answered nothing"),
        (
            server_tool(body="return {'content': [{'type': 'text', 'text': 'no kernel'}], 'isError': True}"),
            "sample", "no kernel",
        ),
        (server_tool(body="open('kernel.c', 'a').write('x')"), "writes", "tree/kernel.c"),
        (
            server_tool(body="[subprocess.Popen(['sleep', '60']) for _ in range(100)]; time.sleep(60)"),
            "sample", "count",
        ),
        ({**server_tool(), "server.py": "print('ready')\n"}, "start", "initialize"),
        ({**server_tool(), "tests/test_server.py": "while True: print('x' * 65536)\n"}, "tests", "printed more than"),
    ],
    ids=[
        "self-test", "empty", "name", "folder", "hang", "flood", "exit", "nothing", "error", "writes", "forks", "mute",
        "loud tests",
    ],
)  # fmt: skip
async def test_a_bad_tool_fails_and_the_check_ends(checked: Check, tool: dict[str, str], check: str, says: str) -> None:
    found = await checked(tool)
    assert says in failed(found)[check]
    assert not SERVER.passes(found.checks, found.inventory)


async def test_a_tool_that_fills_the_disk_is_ended(checked: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_room, "MOST_ENTRIES", 100)
    fill = "[open(os.environ['HOME'] + '/' + str(n), 'w').close() for n in range(200)]; time.sleep(60)"
    found = await checked(server_tool(body=fill, call_s=30))
    assert "it has filled its folders" in failed(found)["writes"]


async def test_nothing_can_be_written_outside_of_the_room(checked: Check, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    found = await checked(server_tool(body=f"open({str(outside)!r}, 'w')"))
    assert not outside.exists()
    assert "sample" in failed(found) and "start" not in failed(found)


async def test_a_tool_that_is_checked_has_no_network(checked: Check) -> None:
    if not can_isolate():
        pytest.skip("this system gives no network namespace")
    body = "import socket\n    socket.create_connection(('127.0.0.1', {port}), 5)\n    return 'connected'"
    with socket.create_server(("127.0.0.1", 0)) as open_port:
        found = await checked(server_tool(body=body.format(port=open_port.getsockname()[1])))
    assert "refused" in failed(found)["sample"]


async def test_a_server_that_frames_its_messages_is_brought_in_and_qualifies(checked: Check, tmp_path: Path) -> None:
    (tool,), _ = foreign_tools(bundle(tmp_path / "theirs"))
    found = await checked({path: data.decode() for path, data in tool.files.items()})
    assert not failed(found)
    assert found.inventory == ("inspect",)
    assert next(check.said for check in found.checks if check.name == "sample").count("kernel.c") == 1
