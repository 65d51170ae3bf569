"""kpd notify: sends one message to a desktop, a chat, a phone or a mailbox; made for `[notify] command`."""

import json
import os
import smtplib
import ssl
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from email.message import EmailMessage
from http.client import HTTPException, InvalidURL
from pathlib import Path
from typing import Any
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urlsplit

from kpd.cli.exit_codes import INFRA, OK, USAGE, CliError
from kpd.cli.terminal_text import line
from kpd.text.foreign import escaped, plain

KINDS = ("desktop", "slack", "teams", "ntfy", "mail")
LIMIT_S = 20
"""Less than the daemon waits for its command."""
MOST = 1500
"""Characters of a message."""
MOST_PORT = 65535
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HELP_URL = "--url-file FILE, $KPD_WEBHOOK or --url says where it goes"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS, help="where to")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the message (default: $KPD_TEXT)")
    parser.add_argument("--url", metavar="URL", help="of a webhook or an ntfy topic: who knows it can send")
    parser.add_argument("--url-file", metavar="FILE", type=Path, help="a file with the URL, readable for you alone")
    parser.add_argument("--to", metavar="ADDRESS", help="the recipient of a mail")
    parser.add_argument("--from", dest="sender", metavar="ADDRESS", help="its sender (default: the recipient)")
    parser.add_argument(
        "--smtp", metavar="HOST:PORT", default="localhost:25", help="the mail server (default: %(default)s)"
    )


def execute(args: Namespace) -> int:
    text = plain(args.text or os.environ.get("KPD_TEXT", ""), MOST)
    if not text:
        raise CliError("no message", f"kpd notify {args.kind} TEXT", USAGE)
    if args.kind == "desktop":
        _desktop(text)
    elif args.kind == "mail":
        _mail(args, text)
    else:
        _post(args, *_body(args.kind, text))
    return OK


def _desktop(text: str) -> None:
    if sys.platform == "darwin":
        script = 'on run argv\ndisplay notification (item 1 of argv) with title "kpd"\nend run'
        command = ["osascript", "-e", script, text]
    else:
        command = ["notify-send", "--app-name=kpd", "--", "kpd", _markup(text)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)
    except OSError as err:
        remedy = "install libnotify (notify-send), or send it elsewhere"
        raise CliError(f"{command[0]} cannot be run: {err.strerror}", remedy, INFRA) from err
    except subprocess.TimeoutExpired as err:
        raise CliError(f"{command[0]} did not end in {LIMIT_S} s", "is there a desktop session?", INFRA) from err
    if done.returncode:
        said = line(done.stderr.decode(errors="replace"))
        remedy = "a daemon under systemd needs DBUS_SESSION_BUS_ADDRESS of your session"
        raise CliError(f"{command[0]} failed: {said}", remedy, INFRA)


def _markup(text: str) -> str:
    """Return text that Slack, or a desktop, shows as it is: no mention, no link, no tag."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _body(kind: str, text: str) -> tuple[bytes, dict[str, str]]:
    """Return the body of a request and its headers."""
    if kind == "ntfy":
        token = _secret("KPD_NTFY_TOKEN")
        return text.encode(), {"Title": "kpd"} | ({"Authorization": f"Bearer {token}"} if token else {})
    said: dict[str, Any] = {"text": _markup(text)}
    if kind == "teams":
        block = {"type": "TextBlock", "text": escaped(text, MOST), "wrap": True}
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
        }
        content = {**card, "body": [block]}
        attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": content}
        said = {"type": "message", "attachments": [attachment]}
    return json.dumps(said).encode(), {"Content-Type": "application/json"}


def _secret(name: str) -> str:
    """Return the value of a variable. Nothing prints it, as an error of what sends it would. Raises CliError."""
    value = os.environ.get(name, "").strip("\r\n")
    if not (value.isascii() and value.isprintable()):
        raise CliError(f"${name} cannot be sent as it is", "it may have printable ASCII characters only", USAGE)
    return value


def _url(args: Namespace) -> str:
    """Return where a request goes. Nothing prints it: who knows a webhook's URL can send."""
    found = (args.url or os.environ.get("KPD_WEBHOOK", "")).strip()
    if args.url_file is not None:
        try:
            found = args.url_file.expanduser().read_text().strip()
        except OSError as err:
            raise CliError(f"{args.url_file} cannot be read: {err.strerror}", HELP_URL, USAGE) from err
        except UnicodeDecodeError as err:
            raise CliError(f"{args.url_file} cannot be read: it is no text", HELP_URL, USAGE) from err
    try:
        parts = urlsplit(found)
        host, _ = parts.hostname, parts.port
    except ValueError as err:
        raise CliError("the URL is none", HELP_URL, USAGE) from err
    if not found or not host or not found.isascii() or not found.isprintable() or " " in found:
        raise CliError("where to?", HELP_URL, USAGE)
    if parts.username is not None:
        raise CliError("the URL has a login in it, which is not sent", "name it without", USAGE)
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        raise CliError(f"{host}: the URL is not https, so others could read it", "use its https address", USAGE)
    return str(found)


class _NoRedirect(request.HTTPRedirectHandler):
    """Follows no redirection: a message goes where the operator said."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _post(args: Namespace, body: bytes, headers: dict[str, str]) -> None:
    url = _url(args)
    host = urlsplit(url).hostname
    asked = request.Request(url, body, {"User-Agent": "kpd", **headers}, method="POST")
    try:
        with request.build_opener(_NoRedirect).open(asked, timeout=LIMIT_S):
            pass
    except (ValueError, InvalidURL) as err:  # its text may hold what is secret
        raise CliError(f"{host}: the message cannot be sent as it is", HELP_URL, USAGE) from err
    except (OSError, HTTPException) as err:  # the error of an answer is an OSError, too
        why = f"it answered {err.code}" if isinstance(err, HTTPError) else str(getattr(err, "reason", err))
        raise CliError(f"{host} did not take the message: {line(why)}", "is its URL still valid?", INFRA) from err


def _mail(args: Namespace, text: str) -> None:
    if not args.to:
        raise CliError("to whom?", "kpd notify mail --to ADDRESS", USAGE)
    message = EmailMessage()
    try:
        message["Subject"], message["To"], message["From"] = f"kpd: {plain(text, 120)}", args.to, args.sender or args.to
    except ValueError as err:
        raise CliError(f"a mail cannot have this address: {err}", "write it as ada@example.org", USAGE) from err
    message.set_content(f"{text}\n")
    host, _, port = args.smtp.rpartition(":")
    if not host or not (port.isdecimal() and len(port) <= 5 and 0 < int(port) <= MOST_PORT):
        raise CliError(f"{args.smtp!r} is no mail server", "write it as smtp.example.org:587", USAGE)
    user, password = _secret("KPD_SMTP_USER"), _secret("KPD_SMTP_PASSWORD")
    try:
        _send(message, host, int(port), (user, password) if user else None)
    except UnicodeError as err:  # of an address or of the server's name
        raise CliError(f"{args.smtp} cannot send to {args.to}", "write both in ASCII", USAGE) from err
    except (OSError, smtplib.SMTPException) as err:
        raise CliError(f"{args.smtp} did not take the mail: {line(str(err))}", "check server and login", INFRA) from err


def _send(message: EmailMessage, host: str, port: int, login: tuple[str, str] | None) -> None:
    """Send over TLS where the server has it; a password goes over TLS only. Raises OSError, SMTPException."""
    safe = ssl.create_default_context()
    opened = smtplib.SMTP_SSL(host, port, timeout=LIMIT_S, context=safe) if port == 465 else None
    with opened or smtplib.SMTP(host, port, timeout=LIMIT_S) as server:
        server.ehlo()
        if opened is None and server.has_extn("starttls") and host not in LOOPBACK:
            server.starttls(context=safe)
            server.ehlo()
        elif opened is None and login is not None and host not in LOOPBACK:
            raise smtplib.SMTPNotSupportedError("it has no TLS, and the password would be readable")
        if login is not None:
            server.login(*login)
        server.send_message(message)
