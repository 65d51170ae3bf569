"""Looks up prices and limits of models: a dated table (prices.toml), overridden by the operator's own prices."""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from kpd.model.spending import Usage
from kpd.workspace.config import ClaudeConfig
from kpd.workspace.strict import Count, NotNegative, read_toml

TABLE = Path(__file__).parent / "prices.toml"
CACHE_WRITE, CACHE_READ = 1.25, 0.1
"""Shares of the input's price, used where an operator's own price does not give these: the highest that are known."""
PINNED = re.compile(r"-20\d{6}$")
"""The date at the end of a model's full name: the same model as without it."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens.

    A call whose prompt has more than `long_above` tokens has the prices `long` for all of them.
    """

    input: NotNegative
    output: NotNegative
    cache_write: NotNegative
    cache_read: NotNegative
    long_above: int = 0
    long: "Price | None" = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model's price, and its limits in tokens, None where they are not documented.

    `min_cache` is the shortest prompt that is cached: a breakpoint in a shorter one is ignored silently. A model
    without `effort` refuses requests that set how hard it should think.
    """

    price: Price
    max_output: Count | None = None
    min_cache: Count | None = None
    effort: bool = True


@dataclass(frozen=True, slots=True)
class PriceTable:
    """The models with their prices. `date` (of the newest entry) and `sources` say where the figures come from."""

    date: str
    sources: tuple[str, ...]
    models: dict[str, Model]


@functools.cache
def table() -> PriceTable:
    """Return the table that ships with kpd."""
    return read_toml(TABLE, PriceTable)


def known(model: str) -> Model | None:
    """Return what the table has on a model, with or without the date at the end of its name; None if nothing."""
    return table().models.get(PINNED.sub("", model))


def price(model: str, config: ClaudeConfig) -> Price | None:
    """Return the operator's price if there is one, else the table's; None for a model that neither knows."""
    own = config.prices.get(model)
    if own is None:
        found = known(model)
        return found.price if found else None
    return Price(
        own.input,
        own.output,
        own.input * CACHE_WRITE if own.cache_write is None else own.cache_write,
        own.input * CACHE_READ if own.cache_read is None else own.cache_read,
    )


def cost(usage: Usage, price: Price) -> float:
    """Return the cost of one call in USD.

    Calls must be priced one by one, because a long prompt raises the price of its own call alone.
    """
    prompt = usage.input + usage.cache_write + usage.cache_read
    rates = price.long if price.long is not None and prompt > price.long_above else price
    millionths = (
        usage.input * rates.input
        + usage.cache_write * rates.cache_write
        + usage.cache_read * rates.cache_read
        + usage.output * rates.output
    )
    return millionths / 1e6
