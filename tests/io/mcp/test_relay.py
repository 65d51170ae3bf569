"""The relay's own process between an agent and a built tool's server."""

import json
import subprocess
import sys

from tests.support.patience import PATIENCE_S

DEAF = "import os, time; print(sorted(os.environ), flush=True); time.sleep(600)"
RELAY = """
import sys
from kpd.mcp import relay
relay.GRACE_S = 0.2
sys.exit(relay.relay([sys.executable, "-c", sys.argv[1]], {"PATH": "/bin", "LC_CTYPE": "C"}, print) == -9)
"""


def test_a_server_gets_no_other_variable_and_ends_though_it_ignores_the_end_of_its_stdin() -> None:
    argv = [sys.executable, "-c", RELAY, DEAF]
    nested = b'{"id":' + b"[" * 900 + b"]" * 900 + b',"method":"tools/call","params":{}}\n'
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as relay:
        assert relay.stdin is not None and relay.stdout is not None
        relay.stdin.write(nested)
        relay.stdin.flush()
        first = relay.stdout.readline()
        relay.stdin.close()
        assert relay.wait(PATIENCE_S) == 1, "the server was killed after its grace"
    assert json.loads(first.replace(b"'", b'"')) == ["LC_CTYPE", "PATH"]
