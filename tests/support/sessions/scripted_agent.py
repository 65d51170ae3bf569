"""A coding agent that does what its script says: a real program that speaks the Agent Client Protocol on its pipes.

`python scripted_agent.py SCRIPT`: JSON with `turns`, each a list of steps `[what, …]`. It needs nothing but Python. How
many turns it has had is in its HOME, as an agent's memory of a session would be.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SESSION = "their-own-7"
MEMORY = Path.home() / "turns"
SERVERS: dict[str, dict[str, Any]] = {}
"""The MCP servers that the session was given, by name."""


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(**fields: Any) -> None:
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": fields}})


def say(text: str) -> None:
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def permitted(kind: str, title: str, **raw: Any) -> bool:
    """Ask as an agent does, and wait for the answer."""
    call = {"toolCallId": "t1", "title": title, "kind": kind, "rawInput": raw}
    options = [
        {"optionId": "y", "name": "Allow", "kind": "allow_once"},
        {"optionId": "n", "name": "Reject", "kind": "reject_once"},
    ]
    params = {"sessionId": SESSION, "toolCall": call, "options": options}
    send({"id": 900, "method": "session/request_permission", "params": params})
    for line in sys.stdin:
        answer = json.loads(line)
        if answer.get("id") == 900 and "method" not in answer:
            return bool(answer.get("result", {}).get("outcome", {}).get("optionId") == "y")
    raise SystemExit(3)


def call(server: str, tool: str, arguments: dict[str, Any]) -> str:
    """Start a server as an agent does, look at its tools, and call one; return the answer's first text."""
    given = SERVERS[server]
    env = {**os.environ, **{one["name"]: one["value"] for one in given["env"]}}
    pipe = subprocess.PIPE
    with subprocess.Popen([given["command"], *given["args"]], env=env, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        known = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}}
        asked = (("initialize", known), ("tools/list", {}), ("tools/call", {"name": tool, "arguments": arguments}))
        for number, (method, params) in enumerate(asked):
            told = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(told) + "\n")
            process.stdin.flush()
            answered = json.loads(process.stdout.readline())
        process.stdin.close()
    return str(answered["result"]["content"][0]["text"])


def step(what: str, *args: Any) -> None:
    match what:
        case "say":
            say(args[0])
        case "write":
            Path(args[0]).write_text(args[1])
        case "ask":
            say(f"{args[0]} {'allowed' if permitted(args[0], args[1], **args[2]) else 'refused'}\n")
        case "try":  # whether the sandbox lets it, whatever anybody was asked
            try:
                Path(args[0]).write_text(args[1])
                say(f"wrote {args[0]}\n")
            except OSError as err:
                say(f"{args[0]}: {err.strerror}\n")
        case "run":
            found = subprocess.run(args[0], shell=True, capture_output=True, text=True)
            say(found.stdout + found.stderr)
        case "servers":
            say(f"servers: {', '.join(SERVERS)}\n")
        case "call":
            say(f"{args[1]} says: {call(*args) if args[0] in SERVERS else 'there is no such server'}\n")
        case "read":  # with a tool, of which it tells
            call_of = {"toolCallId": f"read {args[0]}"}
            update(sessionUpdate="tool_call", **call_of, kind="read", title="Read", locations=[{"path": args[0]}])
            say(Path(args[0]).read_text().splitlines()[0] + "\n")
            update(sessionUpdate="tool_call_update", **call_of, status="completed")
        case "apply":  # write what a tool answers into a file
            Path(args[0]).write_text(call(*args[1:]))
        case "with":  # what is done where the session has a server, and what is done without it
            for each in args[1] if args[0] in SERVERS else args[2]:
                step(*each)
        case "any":  # agents differ from time to time
            for each in random.choice(args[0]):
                step(*each)
        case "files":  # a folder full of files
            for path, text in args[1].items():
                at = Path(args[0]) / path
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_text(text)
        case "cost":
            update(sessionUpdate="usage_update", used=10, size=100, cost={"amount": args[0], "currency": "USD"})
        case "until_cancelled":
            for line in sys.stdin:
                if json.loads(line).get("method") == "session/cancel":
                    return
        case "sleep":
            time.sleep(args[0])
        case "until":  # the test has made a file in its HOME
            while not Path.home().joinpath(args[0]).exists():
                time.sleep(0.01)
        case "huge":
            say("x" * args[0])
        case "many":
            for number in range(args[0]):
                update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": f"{number}\n"})
        case "raw":
            sys.stdout.write(args[0] + "\n")
            sys.stdout.flush()
        case "fork":
            for _ in range(args[0]):
                subprocess.Popen(["sleep", "300"], start_new_session=True)
        case "fill":
            with Path("filler").open("wb") as file:
                for _ in range(args[0]):
                    file.write(bytes(1 << 20))
        case "eat":
            eaten = b"x" * (args[0] << 20)
            time.sleep(args[1])
            del eaten
        case "retry":
            message = {"type": "system", "subtype": "api_retry", "error_status": args[0]}
            send({"method": "_claude/sdkMessage", "params": {"sessionId": SESSION, "message": message}})
        case "exit":
            os._exit(args[0])


def answer(message: dict[str, Any], turns: list[list[list[Any]]], options: dict[str, Any]) -> dict[str, Any] | None:
    method = message["method"]
    if method == "initialize":
        time.sleep(options.get("silent_s", 0))
        can = {"loadSession": options.get("loads", True)}
        info = {"name": "scripted", "version": "1"}
        return {"protocolVersion": options.get("version", 1), "agentCapabilities": can, "agentInfo": info}
    if method in ("session/new", "session/load"):
        SERVERS.update({one["name"]: one for one in message["params"]["mcpServers"]})
    if method == "session/new":
        if "error" in options:
            return None
        return {"sessionId": SESSION}
    if method == "session/load":
        if options.get("forgets"):
            return None
        say("what was said before\n")
        return {}
    if method == "session/prompt":
        number = int(MEMORY.read_text()) if MEMORY.exists() else 0
        MEMORY.write_text(str(number + 1))
        (Path.home() / f"prompt_{number}.md").write_text(message["params"]["prompt"][0]["text"])
        for each in turns[min(number, len(turns) - 1)]:
            step(*each)
        usage = {"totalTokens": 30, "inputTokens": 20, "outputTokens": 10}
        return {"stopReason": "end_turn", "usage": usage}
    return {}


def main() -> None:
    script = json.loads(Path(sys.argv[1]).read_text())
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            result = answer(message, script["turns"], script)
            if result is None:
                lost = {"code": -32603, "message": "Internal error", "data": {"details": "no previous sessions"}}
                send({"id": message["id"], "error": script.get("error", lost)})
            else:
                send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
