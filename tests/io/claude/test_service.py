"""The model service against a real HTTP server on loopback: answers, what they cost, and how they end."""

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from kpd.claude.continuation import ending
from kpd.claude.errors import OverBudget
from kpd.claude.prices import cost, known
from kpd.claude.question import ModelQuestion, PromptPart
from kpd.claude.request import MOST_PIECES
from kpd.claude.stream import MOST_CHARACTERS
from kpd.claude.tokens import most_tokens, tokens
from kpd.model.spending import Usage
from kpd.workspace.config import PriceConfig
from tests.support.claude.anthropic_server import Asked, Broken, Held, Reply, Status, serving
from tests.support.claude.asking import QUESTION, SONNET, Bill, Listener, answered, service_at, talking


def test_importing_it_does_not_import_the_library() -> None:
    code = "import sys, kpd.claude.service; sys.exit('anthropic' in sys.modules or 'httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_the_answer_comes_in_pieces_and_as_a_whole() -> None:
    listener = Listener()
    text = "a = 1\n" * 30 + "näher 🌍"
    answer, server = await answered([Reply(text, chunk=7)], listener)
    assert (answer.text, answer.stop) == (text, "end")
    assert listener.text == text
    assert len(listener.calls) == 1
    assert len(listener.said) > 10
    assert listener.waited == []
    [asked] = server.asked
    assert asked.body["model"] == SONNET
    assert asked.body["output_config"] == {"effort": "medium"}
    assert asked.turns == ["What is it?"]
    assert not {"temperature", "thinking", "tool_choice"} & asked.body.keys()


async def test_all_counts_of_the_usage_are_billed() -> None:
    listener = Listener()
    counts = {"input_tokens": 11, "cache_creation_input_tokens": 22, "cache_read_input_tokens": 33, "output_tokens": 44}
    await answered([Reply("yes", usage=counts)], listener)
    usage = Usage(input=11, cache_write=22, cache_read=33, output=44)
    [bill] = listener.bills
    assert (bill.purpose, bill.model, bill.usage, bill.cut) == ("propose", SONNET, usage, False)
    assert bill.usd == pytest.approx((11 * 2 + 22 * 2.5 + 33 * 0.1 + 44 * 10) / 1e6)


async def test_thinking_is_billed_and_not_part_of_the_answer() -> None:
    listener = Listener()
    answer, _ = await answered([Reply("so", thinking=1000)], listener)
    assert answer.text == listener.text == "so"
    assert listener.bills[0].usage.output > 300


async def test_what_is_marked_is_read_from_the_cache_the_second_time() -> None:
    system = (
        PromptPart("stable rules " * 200, cached=True),
        PromptPart("skills " * 50, cached=True),
        PromptPart("not kept"),
    )
    question = replace(QUESTION, system=system)
    listener = Listener()
    async with talking([Reply("one"), Reply("two")]) as (server, service):
        await service.ask(question, listener.hooks)
        await service.ask(replace(question, user="And now?"), listener.hooks)
    written = tokens(system[0].text) + tokens(system[1].text)
    first, second = (bill.usage for bill in listener.bills)
    assert (first.cache_write, first.cache_read) == (written, 0)
    assert (second.cache_write, second.cache_read) == (0, written)
    marks = ["cache_control" in block for block in server.asked[0].body["system"]]
    assert marks == [True, True, False]
    assert listener.bills[1].usd is not None
    assert listener.bills[0].usd is not None
    assert listener.bills[1].usd < listener.bills[0].usd


async def test_empty_parts_are_left_out_and_their_breakpoint_is_not_lost() -> None:
    listener = Listener()
    question = replace(
        QUESTION, system=(PromptPart("rules"), PromptPart("  \n", cached=True), PromptPart("", cached=False))
    )
    _, server = await answered([Reply("fine")], listener, question)
    assert server.asked[0].body["system"] == [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}}]


def test_too_many_breakpoints_are_a_mistake_of_the_asker() -> None:
    with pytest.raises(ValueError, match="at most 4"):
        replace(QUESTION, system=tuple(PromptPart(f"part {at}", cached=True) for at in range(5)))


async def test_a_prompt_with_halves_of_surrogates_can_be_sent() -> None:
    answer, server = await answered([Reply("read")], Listener(), replace(QUESTION, user="from a host: \udcff"))
    assert answer.text == "read"
    assert server.asked[0].turns == ["from a host: ?"]


async def test_a_model_that_takes_no_effort_is_not_given_one() -> None:
    question = replace(QUESTION, model="claude-haiku-4-5-20251001")
    answer, server = await answered([Reply("quick")], Listener(), question)
    assert answer.text == "quick"
    assert "output_config" not in server.asked[0].body


async def test_an_answer_longer_than_a_message_is_asked_for_in_pieces() -> None:
    text = "".join(f"  x[{at}] = __syncthreads_count(y[{at}]);\n" for at in range(200))

    def model(asked: Asked) -> Reply:
        """As asked: it repeats the last characters that it is shown, and goes on behind them."""
        if len(asked.turns) == 1:
            return Reply(text)
        shown = asked.turns[2].split("<last_characters>\n")[1].split("\n</last_characters>")[0]
        written = asked.turns[1].rstrip()
        assert written.endswith(shown)
        return Reply(shown + text[len(written) :])

    listener = Listener()
    answer, server = await answered(model, listener)
    assert answer.text == text
    assert answer.stop == "end"
    assert len(listener.bills) == len(server.asked) > 2
    assert [bill.purpose for bill in listener.bills] == ["propose"] + ["continue"] * (len(server.asked) - 1)


async def test_an_answer_without_end_is_given_up() -> None:
    answer, server = await answered(lambda asked: Reply(f"{len(asked.turns)} more and " * 400), Listener())
    assert answer.stop == "length"
    assert len(server.asked) == MOST_PIECES


async def test_a_message_that_was_all_thinking_is_asked_for_again_with_more_room() -> None:
    listener = Listener()
    answer, server = await answered([Reply("lost", thinking=9000), Reply("found", thinking=2000)], listener)
    assert answer.text == "found"
    assert [asked.body["max_tokens"] for asked in server.asked] == [1000, 2000]
    assert [bill.purpose for bill in listener.bills] == ["propose", "propose"]
    assert [bill.cut for bill in listener.bills] == [False, False]


async def test_a_message_that_is_all_thinking_at_the_model_s_cap_is_not_paid_again() -> None:
    model = known(SONNET)
    assert model is not None
    assert model.max_output is not None
    thought = Reply("lost", thinking=5 * model.max_output)
    answer, server = await answered(lambda asked: thought, Listener(), replace(QUESTION, max_tokens=100_000))
    assert (answer.text, answer.stop) == ("", "length")
    assert [asked.body["max_tokens"] for asked in server.asked] == [100_000, model.max_output]


async def test_no_more_room_is_asked_for_than_the_model_has() -> None:
    question = replace(QUESTION, max_tokens=10**9)
    _, server = await answered([Reply("fine")], Listener(), question)
    model = known(SONNET)
    assert model is not None
    assert server.asked[0].body["max_tokens"] == model.max_output


async def test_a_turn_that_pauses_goes_on() -> None:
    first, second = "int main() {\n  int first_value = 1;\n", "  int second = 2;\n}\n"
    listener = Listener()
    pieces = [Reply(first, stop="pause_turn"), Reply(ending(first) + "\n" + second)]
    answer, _ = await answered(pieces, listener)
    assert answer.text == first + second
    assert len(listener.bills) == 2


@pytest.mark.parametrize(("word", "stop"), [("refusal", "refusal"), ("model_context_window_exceeded", "context")])
async def test_how_the_model_ends_is_passed_on(word: str, stop: str) -> None:
    answer, server = await answered([Reply("I would rather", stop=word)], Listener())
    assert (answer.text, answer.stop) == ("I would rather", stop)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("said", "excess"),
    [
        (Status(400, "invalid_request_error", "prompt is too long: 1250000 tokens > 1000000 maximum"), 0.2),
        (Status(400, "invalid_request_error", "prompt is too long: 7 tokens > 1000000 maximum"), 0.0),
        (Status(400, "invalid_request_error", "`max_tokens` exceed context limit: 200000 + 20000 > 200000"), 0.1),
        (Status(400, "invalid_request_error", "`max_tokens` exceed context limit: 190000 + 900000 > 200000"), 0.0),
        (Status(400, "invalid_request_error", "prompt is too long"), 0.0),
        (Status(413, "request_too_large", "Request exceeds the maximum size"), 0.0),
    ],
)
async def test_a_prompt_that_does_not_fit_is_no_error(said: Status, excess: float) -> None:
    listener = Listener()
    answer, _ = await answered([said], listener)
    assert (answer.text, answer.stop) == ("", "context")
    assert answer.excess == pytest.approx(excess)
    assert listener.settled[1] == Bill("propose", SONNET, Usage(), 0.0, cut=False)


async def test_a_reply_beyond_all_measure_is_not_read_to_its_end() -> None:
    listener = Listener()
    question = replace(QUESTION, max_tokens=128_000)
    endless = Broken("stall", "spam " * (MOST_CHARACTERS // 4), after=10**9, chunk=100_000)
    async with talking([endless]) as (_, service):
        answer = await service.ask(question, listener.hooks)
    assert answer.stop == "length"
    assert MOST_CHARACTERS < len(answer.text) < MOST_CHARACTERS + 200_000
    assert [bill.cut for bill in listener.bills] == [True]


async def test_a_call_that_could_cross_the_limit_is_not_made() -> None:
    listener = Listener(limit=0.005)
    async with serving([Reply("free?")]) as server:
        with pytest.raises(OverBudget):
            await service_at(server.url).ask(QUESTION, listener.hooks)
        assert server.asked == []
    assert listener.bills == []


async def test_each_piece_and_each_attempt_is_allowed_anew() -> None:
    listener = Listener(limit=0.012)
    question = replace(QUESTION, max_tokens=1000)  # at most one cent of output a call
    async with serving([Reply("word " * 2000), Reply("more")]) as server:
        with pytest.raises(OverBudget):
            await service_at(server.url).ask(question, listener.hooks)
        assert len(server.asked) == 1
    assert len(listener.bills) == len(listener.calls) == 1


async def test_no_call_costs_more_than_was_estimated() -> None:
    listener = Listener()
    system = (PromptPart("int x[] = {0x1f, -3};\n" * 300, cached=True), PromptPart("“ünïcode” " * 100))
    question = ModelQuestion(system, "for (;;) { }\n" * 50, "propose", SONNET, 400)
    await answered([Reply("long " * 1000), Reply("tail")], listener, question)
    assert len(listener.bills) == 2
    for estimate, bill in zip(listener.estimates, listener.bills, strict=True):
        assert estimate is not None
        assert bill.usd is not None
        assert bill.usd <= estimate


async def test_a_model_without_a_price_is_billed_in_tokens_alone() -> None:
    listener = Listener()
    async with talking([Reply("cheap")]) as (server, service):
        server.models.add("house-model-7")
        answer = await service.ask(replace(QUESTION, model="house-model-7"), listener.hooks)
    assert answer.text == "cheap"
    assert listener.estimates == [None]
    assert [bill.usd for bill in listener.bills] == [None]


async def test_the_operator_s_own_price_comes_first() -> None:
    listener = Listener()
    prices = {SONNET: PriceConfig(input=100.0, output=1000.0)}
    async with talking([Reply("dear", usage={"input_tokens": 10, "output_tokens": 10})], prices=prices) as (_, service):
        await service.ask(QUESTION, listener.hooks)
    assert listener.bills[0].usd == pytest.approx((10 * 100 + 10 * 1000) / 1e6)


async def test_a_cancelled_question_bills_what_came() -> None:
    listener = Listener()
    async with talking([Held(asyncio.Event(), "twenty characters in", after=4)]) as (server, service):
        task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
        await listener.until(1, listener.said)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [bill] = listener.bills
    assert bill.cut
    assert bill.usage == Usage(input=server.charged[0].input, output=most_tokens("twenty c"))
    model = known(SONNET)
    assert model is not None
    assert bill.usd == pytest.approx(cost(bill.usage, model.price))


async def test_a_question_cancelled_before_anything_came_bills_its_prompt() -> None:
    listener = Listener()
    async with talking([Held(asyncio.Event(), after=0)]) as (server, service):
        task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
        await server.wait_for(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [bill] = listener.bills
    assert bill.cut
    assert bill.usage == Usage(input=bill.usage.input)
    assert bill.usage.input >= tokens(QUESTION.user) + tokens(QUESTION.system[0].text)
    assert bill.usd == pytest.approx(bill.usage.input * 2 / 1e6)


async def test_no_call_is_begun_before_one_may_be_made() -> None:
    listener = Listener(readiness=asyncio.Event())
    assert listener.readiness is not None
    async with talking([Broken("cut"), Reply("now")]) as (server, service):
        task = asyncio.create_task(service.ask(QUESTION, listener.hooks))
        for calls in range(2):
            await listener.held.wait()
            assert (len(listener.calls), len(server.asked)) == (calls, calls)
            listener.held.clear()
            listener.readiness.set()
            await server.wait_for(calls + 1)
            listener.readiness.clear()
        assert (await task).text == "now"


async def test_questions_at_the_same_time_do_not_disturb_each_other() -> None:
    def model(asked: Asked) -> Reply:
        return Reply(asked.turns[0] * 50, chunk=3)

    async with talking(model) as (_, service):
        listeners = [Listener() for _ in range(8)]
        answers = await asyncio.gather(
            *(service.ask(replace(QUESTION, user=f"<{at}>"), one.hooks) for at, one in enumerate(listeners))
        )
    for at, (answer, one) in enumerate(zip(answers, listeners, strict=True)):
        assert answer.text == one.text == f"<{at}>" * 50
        assert len(one.bills) == 1
