"""Talks to Anthropic's service. Only this module imports its library, when the first question is asked.

The library's own retries are off: they cover only what fails before a stream begins, obey a `retry-after` of any
length, and notify nobody. `request` retries instead.
"""

import asyncio
import importlib
import logging
import re
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kpd.claude.backoff import Backoff, retry_after
from kpd.claude.call import ModelCall
from kpd.claude.errors import Unavailable
from kpd.claude.failures import ServiceError, Transient, classify, without_key
from kpd.claude.prices import price
from kpd.claude.question import Hooks, ModelAnswer, ModelQuestion
from kpd.claude.request import CallFailed, ModelRequest
from kpd.workspace.config import ClaudeConfig

if TYPE_CHECKING:
    import anthropic
    import httpx2

BASE_URL = "https://api.anthropic.com"
"""The address for questions if neither the config nor ANTHROPIC_BASE_URL gives one."""
TALKATIVE = ("anthropic", "httpx2", "httpcore2")
"""Loggers that write whole prompts below WARNING. ANTHROPIC_LOG would bring these into the daemon's log."""


class Service:
    """The model service, which is asked questions, any number at a time. `environ` has the API key.

    The config names the variable. The key is read anew for each question and stored nowhere; no text that leaves this
    package contains it.
    """

    def __init__(self, config: ClaudeConfig, environ: Mapping[str, str], pace: Backoff | None = None) -> None:
        self._config = config
        self._environ = environ
        self._pace = pace or Backoff()
        self._http: httpx2.AsyncClient | None = None

    async def ask(self, question: ModelQuestion, hooks: Hooks) -> ModelAnswer:
        """Return the whole answer to a question, after as many attempts and in as many pieces as it takes.

        Raises Unavailable when a person is needed or the question's limit on waiting is reached, and OverBudget when
        the ledger does not allow the next call. Everything else (overload, rate limits, lost connections, broken
        streams) is retried after a pause and reported to `hooks.waits`, until the task is cancelled. Every call that
        has begun is settled, whatever its outcome.
        """
        key = self._key()
        client = await self._client(key, question.most_waits_s)

        def listen(call: ModelCall) -> AsyncGenerator[object, None]:
            return self._events(client, key, call)

        return await ModelRequest(question, hooks, price(question.model, self._config), listen, self._pace).answer()

    async def close(self) -> None:
        """Close the connections, once no question is under way."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    def _key(self) -> str:
        """Return the API key. Raises Unavailable where there is none."""
        name = self._config.api_key_env
        if trouble := self._config.lacks_key(self._environ):
            raise Unavailable(trouble, f"set {name} to an API key where the daemon runs, and restart it")
        return self._environ[name].strip()

    def _base_url(self) -> str:
        """Return the service's address. Raises Unavailable where it is not a URL."""
        url = self._config.base_url or self._environ.get("ANTHROPIC_BASE_URL") or BASE_URL
        try:
            port = urlsplit(url).port
        except ValueError:
            raise _no_address(url) from None
        if port == 0 or not re.match(r"https?://[^\s/]", url):
            raise _no_address(url)
        return url

    async def _client(self, key: str, most_waits_s: float | None) -> "anthropic.AsyncAnthropic":
        """Return the library's client for one question. Raises Unavailable where the address is not a URL."""
        url = self._base_url()
        # The import takes a second: in a thread it does not block the daemon's loop.
        await asyncio.to_thread(importlib.import_module, "anthropic")
        import anthropic
        import httpx2

        _hush()
        if self._http is None:
            self._http = anthropic.DefaultAsyncHttpxClient()
        stall_s = self._pace.stall_s if most_waits_s is None else min(self._pace.stall_s, most_waits_s)
        try:
            return anthropic.AsyncAnthropic(
                api_key=key,
                base_url=url,
                max_retries=0,
                timeout=anthropic.Timeout(stall_s, connect=self._pace.connect_s),
                http_client=self._http,
            )
        except httpx2.InvalidURL:
            raise _no_address(url) from None

    async def _events(
        self, client: "anthropic.AsyncAnthropic", key: str, call: ModelCall
    ) -> AsyncGenerator[object, None]:
        """Yield the events of one reply as plain data. Raises CallFailed."""
        import anthropic
        import httpx2

        try:
            stream = await client.messages.create(**call.body())
            async with stream:
                try:
                    async for event in stream:
                        yield event.to_dict(warnings=False) if isinstance(event, anthropic.BaseModel) else event
                except ValueError as err:  # not JSON, or not UTF-8
                    words = without_key(err, key)
                    raise CallFailed(
                        Transient(f"the model service sent something unreadable ({words})"), True
                    ) from None
        except anthropic.APIStatusError as err:
            words = without_key(err.api_message, key)
            failure = ServiceError(err.status_code, str(err.type or ""), err.error_code or "", words)
            asked_s = retry_after(err.response.headers)
            raise CallFailed(classify(failure, call.question.model, self._config.api_key_env, asked_s), False) from None
        except (anthropic.APIConnectionError, httpx2.HTTPError) as err:
            cause = err if isinstance(err, httpx2.HTTPError) else err.__cause__
            words = "the model service does not answer in time"
            if not isinstance(cause, httpx2.TimeoutException):
                words = f"no connection to the model service ({without_key(cause, key)})"
            never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
            raise CallFailed(Transient(words), not isinstance(cause, never_sent)) from None
        except (anthropic.AnthropicError, httpx2.InvalidURL) as err:
            remedy = "correct [claude] in config.toml, or update the package anthropic"
            words = f"the request to the model service cannot be made ({without_key(err, key)})"
            raise CallFailed(Unavailable(words, remedy), True) from None


def _hush() -> None:
    """Keep the library's loggers at WARNING: below it they write whole prompts where ANTHROPIC_LOG asks for that."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _no_address(url: str) -> Unavailable:
    return Unavailable(f"the model service has no address: {url!r}", "correct base_url in [claude] of config.toml")
