"""Classifies failed calls: temporary, the prompt is too long, or a person is needed."""

import re
from dataclasses import dataclass

from kpd.claude.errors import Unavailable

STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of each type of error: an error in the middle of a stream comes after a status of 200."""
WORDS = {
    408: "the model service timed out",
    409: "the model service reports a conflict",
    429: "the model service limits the rate of requests",
    500: "the model service has an error of its own",
    502: "no model service behind its gateway",
    503: "the model service is unavailable",
    504: "the model service timed out",
    529: "the model service is overloaded",
}
SPENT = re.compile(
    r"credit balance|(usage|spend(ing)?|billing)[ _]limits?|billing_unavailable|insufficient (funds|quota)"
)
TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(context|maximum (context|prompt|input))|context (window|limit)"
)
NUMBERS = re.compile(r"(\d{1,9}) tokens > (\d{1,9}) maximum|(\d{1,9}) \+ (\d{1,9}) > (\d{1,9})")
"""The prompt's length and its limit; or the lengths of prompt and answer, and the limit of both together."""
LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True)
class ServiceError:
    """An error that the service answered with. `kind`, `code` and `message` are as the service gives them."""

    status: int
    kind: str = ""
    code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Transient:
    """An error after which the same call may succeed later. `asked_s`: how many seconds the service asks to wait."""

    reason: str
    asked_s: float | None = None


@dataclass(frozen=True, slots=True)
class PromptTooLong:
    """A prompt that does not fit the model. `excess` is the share of it that is too much, 0 where that is unknown."""

    excess: float = 0.0


Trouble = Transient | PromptTooLong | Unavailable


def classify(failure: ServiceError, model: str, key_env: str, asked_s: float | None) -> Trouble:
    """Return what an error means for a call to `model` with the key in the environment variable `key_env`.

    The error's message decides only where one status stands for many things, as for a refused request. The message of a
    rate limit never decides. `asked_s` is how many seconds the service asks to wait.
    """
    status = STATUS.get(failure.kind, 500) if 200 <= failure.status < 300 else failure.status
    words = f"{failure.code} {failure.message if status != 429 else ''}".lower()
    said = f": {failure.message}" if failure.message else ""
    if status == 402 or (400 <= status < 500 and SPENT.search(words)):
        remedy = "add credit or raise the limit in the account's billing settings"
        return Unavailable(f"the account of the key in {key_env} may not spend more{said}", remedy)
    if status == 401:
        remedy = f"set {key_env} to a valid key where the daemon runs, and restart it"
        return Unavailable(f"the model service does not accept the key in {key_env}{said}", remedy)
    if status == 403:
        return Unavailable(f"the key in {key_env} has no permission for this{said}", "use another key or model")
    if status == 404:
        remedy = "correct model, small_model or base_url in [claude] of config.toml"
        return Unavailable(f"the model service does not know the model {model!r}{said}", remedy)
    if status == 413 or (status == 400 and TOO_LONG.search(words)):
        return PromptTooLong(_excess(words))
    if status in (408, 409, 429) or status >= 500:
        return Transient(WORDS.get(status, f"the model service answered with status {status}") + said, asked_s)
    remedy = "correct [claude] in config.toml: model, effort, max_tokens, base_url"
    return Unavailable(f"the model service refused the request (status {status}){said}", remedy)


def _excess(words: str) -> float:
    found = NUMBERS.search(words)
    if found is None:
        return 0.0
    length, most = (int(found[1]), int(found[2])) if found[1] else (int(found[3]), int(found[5]) - int(found[4]))
    return 1 - most / length if 0 < most < length else 0.0


def without_key(text: object, key: str) -> str:
    """Return text of the service as one short line for a person, without the key and without control characters."""
    words = str(text or "").replace(key, "…") if key else str(text or "")
    line = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    return line if len(line) <= LONGEST_WORDS else line[: LONGEST_WORDS - 1] + "…"
