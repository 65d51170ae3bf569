"""What needs a person: said at once, with what helps, and never with the key in it."""

import io
import logging
import traceback
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kpd.claude.errors import Unavailable
from kpd.claude.failures import LONGEST_WORDS, without_key
from kpd.claude.service import Service
from kpd.workspace.config import ClaudeConfig
from tests.support.claude.anthropic_script import Behaviour
from tests.support.claude.anthropic_server import KEY, Broken, Reply, Status, serving
from tests.support.claude.asking import FAST, QUESTION, Listener, service_at, talking


async def refused(said: Status) -> Unavailable:
    async with talking([said, Reply("never asked for")]) as (server, service):
        with pytest.raises(Unavailable) as caught:
            await service.ask(QUESTION, Listener().hooks)
        assert len(server.asked) == 1
    return caught.value


@pytest.mark.parametrize(
    ("said", "message", "remedy"),
    [
        (
            Status(401, "authentication_error", "invalid x-api-key"),
            "not accept the key in ANTHROPIC_API_KEY",
            "set ANT",
        ),
        (Status(403, "permission_error", "not for you"), "no permission", "another key"),
        (
            Status(400, "invalid_request_error", "Your credit balance is too low to access the API."),
            "may not spend more",
            "add credit",
        ),
        (
            Status(400, "invalid_request_error", "You have reached your specified API usage limits."),
            "may not spend more",
            "raise the limit",
        ),
        (Status(402, "billing_error", "payment failed"), "may not spend more", "add credit"),
        (Status(429, "rate_limit_error", "monthly", "enforced_spend_limit_reached"), "may not spend more", "raise"),
        (Status(404, "not_found_error", "model: claude-x"), "does not know the model 'claude-sonnet-5-5'", "correct"),
        (Status(400, "invalid_request_error", "max_tokens: must be positive"), "max_tokens: must be", "[claude]"),
        (Status(418, "teapot", "no"), "status 418", "[claude]"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_needs_a_person_says_what_helps(said: Status, message: str, remedy: str) -> None:
    err = await refused(said)
    assert message in err.message
    assert remedy in err.remedy
    assert str(err) == f"{err.message}; {err.remedy}"


async def test_a_wrong_key_is_refused_by_the_service() -> None:
    async with serving([Reply("secret")], key="sk-another") as server:
        with pytest.raises(Unavailable, match="not accept the key"):
            await service_at(server.url).ask(QUESTION, Listener().hooks)


async def test_an_unknown_model_is_refused_by_the_service() -> None:
    async with talking([Reply("?")]) as (_, service):
        with pytest.raises(Unavailable, match="claude-nonesuch-1"):
            await service.ask(replace(QUESTION, model="claude-nonesuch-1"), Listener().hooks)


@pytest.mark.parametrize("key", ["", "   ", "sk-two words", "sk-ключ", "sk-line\nbreak"])
async def test_no_key_and_no_possible_key_ask_for_one(key: str) -> None:
    async with serving([Reply("?")]) as server:
        with pytest.raises(Unavailable, match="ANTHROPIC_API_KEY") as caught:
            await service_at(server.url, key=key).ask(QUESTION, Listener().hooks)
        assert server.asked == []
    assert "set ANTHROPIC_API_KEY" in caught.value.remedy
    assert key.strip() == "" or key not in str(caught.value)


async def test_the_key_is_read_anew_for_each_question() -> None:
    environ = {"OTHER": "sk-wrong"}
    async with serving([Reply("now")]) as server:
        service = Service(replace(ClaudeConfig(), base_url=server.url, api_key_env="OTHER"), environ, FAST)
        with pytest.raises(Unavailable, match="key in OTHER"):
            await service.ask(QUESTION, Listener().hooks)
        environ["OTHER"] = KEY
        assert (await service.ask(QUESTION, Listener().hooks)).text == "now"
        await service.close()


NO_ADDRESS = [
    "api.example.org", "ftp://example.org", "http://", "https:///v1", "http://127.0.0.1:80a", "http://[::1",
    "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://xn--\udc80", "http://a\x07b",
]  # fmt: skip


@pytest.mark.parametrize("url", NO_ADDRESS, ids=ascii)
async def test_an_address_that_is_none_is_not_tried_for_ever(url: str) -> None:
    with pytest.raises(Unavailable, match="no address") as caught:
        await service_at(url).ask(QUESTION, Listener().hooks)
    assert "base_url" in caught.value.remedy


async def test_a_library_that_gives_up_is_no_error_of_kpd_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import anthropic  # at the top each worker of the suite would spend a second on it
    from anthropic.resources.messages import AsyncMessages

    async def gives_up(*args: object, **fields: object) -> None:
        raise anthropic.AnthropicError(f"no credentials like {KEY}")

    monkeypatch.setattr(AsyncMessages, "create", gives_up)
    listener = Listener()
    async with talking([]) as (_, service):
        with pytest.raises(Unavailable, match="no credentials like …") as caught:
            await service.ask(QUESTION, listener.hooks)
    assert "[claude]" in caught.value.remedy
    assert len(listener.settled) == 1


async def test_the_environment_may_give_the_address() -> None:
    async with serving([Reply("here")]) as server:
        environ = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
        service = Service(ClaudeConfig(), environ, FAST)
        assert (await service.ask(QUESTION, Listener().hooks)).text == "here"
        await service.close()


@pytest.fixture
def everything_logged() -> Iterator[io.StringIO]:
    """All that is logged, with libraries told to be at their most talkative."""
    root, log = logging.getLogger(), io.StringIO()
    handler = logging.StreamHandler(log)
    names = ["", "anthropic", "httpx2", "httpcore2", "httpx", "httpcore", "asyncio"]
    levels = {name: logging.getLogger(name).level for name in names}
    root.addHandler(handler)
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield log
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
    root.removeHandler(handler)


async def test_the_key_is_in_no_exception_no_reason_and_no_log(everything_logged: io.StringIO) -> None:
    """Not even when the service itself repeats it. Nor does a log have the prompt."""
    listener = Listener()
    script: list[Behaviour] = [
        Status(500, message=f"while serving {KEY}"),
        Broken("cut"),
        Broken("error", kind=f"odd {KEY}"),
        Status(401, "authentication_error", f"the key {KEY} is\x1b[31m not known"),
    ]
    async with talking(script) as (server, service):
        with pytest.raises(Unavailable) as caught:
            await service.ask(QUESTION, listener.hooks)
        seen = [repr(service), str(vars(service)["_http"])]
    err: BaseException | None = caught.value
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    seen += [str(caught.value), repr(caught.value), "".join(traceback.format_exception(caught.value))]
    while err is not None:  # what a crash report may follow
        seen += [repr(vars(err)), str(err.args)]
        err = err.__cause__ or err.__context__
    seen += [*listener.waited, *listener.said, everything_logged.getvalue()]
    assert len(listener.waited) > 3
    assert QUESTION.user not in everything_logged.getvalue()
    assert not [text for text in seen if KEY in text]
    assert "\x1b" not in str(caught.value)
    assert caught.value.__context__ is None


def test_words_of_strangers_are_made_harmless() -> None:
    assert without_key("a\x1b[2J\n b\u202e\tc", "") == "a [2J b c"
    assert without_key("x" * 5000, "k") == "x" * (LONGEST_WORDS - 1) + "…"
    assert without_key("key: SECRET!", "SECRET") == "key: …!"
    assert without_key(None, "k") == ""
