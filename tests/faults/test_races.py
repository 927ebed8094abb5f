"""Two tabs at once, through the real server: nothing is lost, nobody's text disappears, the slower one is told."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.faults.page import PageClient
from tests.rounds import sample
from tests.servers import Server

pytestmark = pytest.mark.slow

ROUNDS = sample(range(6), 2)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("races") / "data", DEMO_SECONDS_PER_TOKEN="0.002") as server:
        yield server


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[PageClient]:
    client = PageClient(server.link)
    yield client
    client.close()


@pytest.fixture
def mine(browser: PageClient) -> Iterator[PageClient]:
    """A tab on a new conversation of two exchanges, with a checkpoint after the first."""
    tab = browser.tab()
    tab.thread = None
    tab.say("first question")
    tab.save("after the first")
    tab.say("second question")
    yield tab
    tab.close()


@pytest.fixture
def yours(mine: PageClient) -> Iterator[PageClient]:
    """Another tab that shows the same."""
    tab = mine.tab()
    yield tab
    tab.close()


def together(*actions: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(action) for action in actions]]


def asked(tab: PageClient) -> list[str]:
    return [message["text"] for message in tab.rest()["messages"] if message["role"] == "user"]


@pytest.mark.slow
@pytest.mark.parametrize("_", ROUNDS)
def test_of_two_who_send_at_once_one_is_answered_and_the_other_is_told(mine: PageClient, yours: PageClient, _: int) -> None:
    replies = together(lambda: mine.send("from me"), lambda: yours.send("from you"))
    texts = ["from me", "from you"]
    assert sorted(reply["ok"] for reply in replies) == [False, True]
    refused = replies.index(next(reply for reply in replies if not reply["ok"]))
    assert "Nothing was done" in replies[refused]["text"] or "An answer is being written" in replies[refused]["text"]
    assert asked(mine) == ["first question", "second question", texts[1 - refused]]
    mine.look()
    assert mine.send(texts[refused])["ok"]  # the text stayed in the field: it is sent again, and nobody's text is gone
    assert asked(mine) == ["first question", "second question", texts[1 - refused], texts[refused]]


@pytest.mark.slow
@pytest.mark.parametrize("_", ROUNDS)
def test_when_one_restores_while_the_other_sends_nothing_is_lost(mine: PageClient, yours: PageClient, _: int) -> None:
    checkpoint = mine.checkpoints()[0]["id"]
    mine.act("history", "restore", checkpoint=checkpoint)
    restored, reply = together(mine.confirm_restore, lambda: yours.send("while you restore"))
    told = (restored["head"]["data"].get("toast") or {}).get("text")
    match reply["ok"], told:
        case True, None:  # sent first: its answer was stopped, and the question went with the restore, undoably
            assert asked(mine) == ["first question"]
            assert restored["head"]["data"]["fill"]["text"] == "while you restore"
            mine.look()
            mine.step("undo")
            assert asked(mine) == ["first question", "second question", "while you restore"]
        case True, str():  # sent first, and the restore was told that it came too late
            assert asked(mine) == ["first question", "second question", "while you restore"]
        case False, None:  # restored first, and the sender was told
            assert "changed elsewhere" in reply["text"]
            assert asked(yours) == ["first question"]
        case _:
            raise AssertionError("both were refused")


def test_one_wish_posted_many_times_has_one_effect(mine: PageClient) -> None:
    mine.look()
    replies = together(*(lambda: mine.send("once", request_id="the-same-wish") for _ in range(4)))
    assert [reply["ok"] for reply in replies] == [True] * 4
    assert asked(mine).count("once") == 1
    mine.look()
    together(*(lambda: mine.save("kept", request_id="the-same-checkpoint") for _ in range(4)))
    assert [each["name"] for each in mine.checkpoints()].count("kept") == 1


def test_a_first_message_posted_twice_begins_one_conversation(browser: PageClient) -> None:
    first = browser.tab()
    first.thread = None
    first.look()
    tabs = [first, first.tab(), first.tab()]
    answers = together(
        *(partial(tab.act, "composer-panel", "send", request_id="a-first-wish", text="hello") for tab in tabs)
    )
    assert len({answer["head"]["data"]["go"] for answer in answers}) == 1
    assert asked(first) == ["hello"]
    for tab in tabs:
        tab.close()


def test_a_wish_of_one_conversation_cannot_be_used_to_see_another(mine: PageClient, browser: PageClient) -> None:
    mine.look()
    assert mine.send("private", request_id="known-to-somebody")["ok"]
    other = browser.tab()
    other.thread = None
    other.say("elsewhere")
    other.look()
    assert other.send("what is this?", request_id="known-to-somebody")["ok"] is False
    assert asked(other) == ["elsewhere"]
    other.close()


def test_two_who_undo_at_once_undo_one_thing(mine: PageClient, yours: PageClient) -> None:
    mine.look()
    yours.look()
    together(lambda: mine.step("undo"), lambda: yours.step("undo"))
    assert asked(mine) == ["first question"]
    assert [each["name"] for each in mine.checkpoints()] == ["after the first"]


def test_a_conversation_that_was_deleted_in_another_tab_takes_no_message(mine: PageClient, yours: PageClient) -> None:
    thread = mine.thread
    mine.act("threads", "delete", thread=thread)
    deleted = mine.confirm("delete-thread")
    reply = yours.send("are you there?")
    assert (reply["ok"], "no longer exists" in reply["text"]) == (False, True)
    mine.undo_in_toast(deleted["head"]["data"])
    mine.thread = thread
    assert asked(mine) == ["first question", "second question"]
