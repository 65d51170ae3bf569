"""kpd notify, sent to real servers on loopback; and by the daemon's own code, as `[notify] command`."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.daemon import alert
from kpd.daemon.alert import tell
from kpd.daemon.journal import EventJournal
from kpd.daemon.store import EventStore
from kpd.model.facts.workspace import Noticed
from tests.support.cli.receivers import MailServer, Webhook, key_and_certificate, served
from tests.support.patience import PATIENCE_S

Printed = pytest.CaptureFixture[str]
KPD = str(Path(sys.executable).parent / "kpd")
TEXT = "r3 ended: improved <!channel> & [x](y)"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KPD_WEBHOOK", "KPD_TEXT", "KPD_NTFY_TOKEN", "KPD_SMTP_USER", "http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def hook() -> Iterator[Webhook]:
    server = Webhook()
    with served(server):
        yield server


def test_slack_gets_text_that_mentions_nobody(hook: Webhook, tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{hook.url}/services/T0/B0/secret\n")
    assert main(["notify", "slack", TEXT, "--url-file", str(tmp_path / "url")]) == 0
    [(path, headers, body)] = hook.taken
    assert path == "/services/T0/B0/secret" and headers["Content-Type"] == "application/json"
    assert json.loads(body) == {"text": "r3 ended: improved &lt;!channel&gt; &amp; [x](y)"}


def test_teams_gets_a_card_without_a_link(hook: Webhook) -> None:
    assert main(["notify", "teams", TEXT, "--url", hook.url]) == 0
    said = json.loads(hook.taken[0][2])
    [attachment] = said["attachments"]
    assert said["type"] == "message" and attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attachment["content"]["type"] == "AdaptiveCard"
    [block] = attachment["content"]["body"]
    assert block["text"] == r"r3 ended: improved \<\!channel\> \& \[x\](y)" and block["wrap"]


def test_ntfy_gets_the_text_itself(hook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPD_WEBHOOK", f"{hook.url}/my-kernels")
    monkeypatch.setenv("KPD_NTFY_TOKEN", "tk_1234")
    assert main(["notify", "ntfy", "µs: it\nended"]) == 0
    [(path, headers, body)] = hook.taken
    assert (path, body.decode()) == ("/my-kernels", "µs: it ended")
    assert headers["Title"] == "kpd" and headers["Authorization"] == "Bearer tk_1234"


def test_a_mail_is_taken_with_the_text_as_one_subject() -> None:
    server = MailServer()
    with served(server):
        argv = ["--to", "ada@example.org", "--from", "kpd@example.org", "--smtp", server.address]
        assert main(["notify", "mail", "r3 ended\nBcc: eve@example.org", *argv]) == 0
    assert "mail FROM:<kpd@example.org>" in server.lines[1] or "mail FROM:<kpd@example.org>" in server.lines
    assert [said for said in server.lines if said.startswith("rcpt")] == ["rcpt TO:<ada@example.org>"]
    assert "Subject: kpd: r3 ended Bcc: eve@example.org" in server.lines
    assert not any(said.startswith("Bcc:") for said in server.lines)


def test_no_password_goes_to_a_server_without_tls(monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    monkeypatch.setenv("KPD_SMTP_USER", "ada")
    monkeypatch.setenv("KPD_SMTP_PASSWORD", "correct-horse")
    monkeypatch.setattr("kpd.cli.notify.LOOPBACK", ())  # as if the server were another machine
    server = MailServer()
    with served(server):
        assert main(["notify", "mail", "x", "--to", "ada@example.org", "--smtp", server.address]) == 3
    assert "it has no TLS" in capsys.readouterr().err and not any("AUTH" in said.upper() for said in server.lines)


def test_a_login_goes_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed) -> None:
    certificate = tmp_path / "both.pem"
    certificate.write_bytes(key_and_certificate())
    monkeypatch.setenv("KPD_SMTP_USER", "ada")
    monkeypatch.setenv("KPD_SMTP_PASSWORD", "correct-horse")
    monkeypatch.setattr("kpd.cli.notify.LOOPBACK", ())  # as if the server were another machine
    server = MailServer(certificate)
    with served(server):
        argv = ["notify", "mail", "r3 ended", "--to", "ada@example.org", "--smtp", server.address]
        assert main(argv) == 3, "nobody that this machine trusts has signed its certificate"
        assert "CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().err and server.secret == []
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert main(argv) == 0
    logins = [said for said in server.lines if said.startswith("AUTH")]
    assert logins and set(logins) <= set(server.secret) and "Subject: kpd: r3 ended" in server.secret


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_token_may_end_a_line(hook: Webhook, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    monkeypatch.setenv("KPD_NTFY_TOKEN", f"tk_1234{end}")
    assert main(["notify", "ntfy", "x", "--url", hook.url]) == 0
    assert hook.taken[0][1]["Authorization"] == "Bearer tk_1234"


@pytest.mark.parametrize("token", ["tk_12\n34", "tk_12\r34", "tk_12é34", "tk_12\udcff34"])
def test_a_token_that_cannot_be_sent_is_told_and_not_printed(
    hook: Webhook, monkeypatch: pytest.MonkeyPatch, capsys: Printed, token: str
) -> None:
    monkeypatch.setenv("KPD_NTFY_TOKEN", token)
    assert main(["notify", "ntfy", "x", "--url", hook.url]) == 64
    shown = capsys.readouterr().err
    assert "$KPD_NTFY_TOKEN cannot be sent as it is" in shown and "12" not in shown and hook.taken == []


@pytest.mark.parametrize("name", ["KPD_SMTP_USER", "KPD_SMTP_PASSWORD"])
def test_a_login_that_cannot_be_sent_is_told_and_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed, name: str
) -> None:
    server = MailServer()
    for one in ("KPD_SMTP_USER", "KPD_SMTP_PASSWORD"):
        monkeypatch.setenv(one, "correct-hörse" if one == name else "x")
    with served(server):
        assert main(["notify", "mail", "x", "--to", "ada@example.org", "--smtp", server.address]) == 64
    shown = capsys.readouterr().err
    assert f"${name} cannot be sent as it is" in shown and "correct" not in shown and server.lines == []


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org/sécret",
        "https://hooks.example.org:secret/x",
        "https://ada:secret@127.0.0.1/x",
        "https://..a/secret",
    ],
)
def test_a_url_that_cannot_be_used_is_not_printed(capsys: Printed, url: str) -> None:
    assert main(["notify", "slack", "x", "--url", url]) == 64
    shown = capsys.readouterr().err
    assert shown and "cret" not in shown


@pytest.mark.parametrize("answer", [302, 404, 500])
def test_what_is_not_taken_is_told_without_the_url(hook: Webhook, capsys: Printed, answer: int) -> None:
    hook.answer = answer
    assert main(["notify", "slack", "x", "--url", f"{hook.url}/secret"]) == 3
    shown = capsys.readouterr().err
    assert f"it answered {answer}" in shown and "secret" not in shown and len(hook.taken) == 1


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["slack", "x"], "where to?"),
        (["slack"], "no message"),
        (["slack", "x", "--url", "http://hooks.example.org/secret"], "is not https"),
        (["slack", "x", "--url", "file:///etc/passwd"], "where to?"),
        (["ntfy", "x", "--url-file", "/nowhere/url"], "cannot be read"),
        (["mail", "x"], "to whom?"),
        (["mail", "x", "--to", "ada@example.org", "--smtp", "here"], "is no mail server"),
        *(
            (["mail", "x", "--to", "ada@example.org", "--smtp", f"127.0.0.1:{port}"], "is no mail server")
            for port in ("0", "65536", "99999999999", "9" * 5000)
        ),
        (["mail", "x", "--to", "ada@example.org", "--smtp", "..a:25"], "write both in ASCII"),
        (["mail", "x", "--to", "ada@example.org\nBcc: eve"], "cannot have this address"),
    ],
)
def test_what_cannot_be_sent_is_said(capsys: Printed, argv: list[str], said: str) -> None:
    assert main(["notify", *argv]) == 64
    shown = capsys.readouterr().err
    assert said in shown and "secret" not in shown


def test_a_desktop_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name stands in for the desktop's own, which needs a session."""
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/shown\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "platform", "linux")
    assert main(["notify", "desktop", "a <b>"]) == 0
    assert (tmp_path / "shown").read_text().splitlines() == ["--app-name=kpd", "--", "kpd", "a &lt;b&gt;"]


def test_the_daemon_sends_with_it(hook: Webhook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPD_WEBHOOK", f"{hook.url}/t")
    monkeypatch.setattr(alert, "LIMIT_S", PATIENCE_S)
    with EventStore(tmp_path / "events.db") as store:
        journal = EventJournal(store)
        asyncio.run(tell((KPD, "notify", "ntfy"), "r1 ended:\0improved\x1b", journal))
        assert [body for _, _, body in hook.taken] == [b"r1 ended: improved"]
        hook.answer = 500
        asyncio.run(tell((KPD, "notify", "ntfy"), "r1 ended: improved", journal))
        assert [event.fact.kind() for event in store.read()] == [Noticed.kind()], "what was not sent is a notice"
