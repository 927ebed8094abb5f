"""Answers that stand: an undo takes back one of them, a redo brings it back, and what others had answered stays."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Caller, RunState
from checkpoints.storage import schema
from checkpoints.values.standing_answers import REST_CHANNEL
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import HEAD, answer, delay_states, one_node, read_channels
from tests.extensions.graphs.test_driving import play

ASKS_TWICE = (
    "def node(state):\n    one = interrupt('first?')\n    two = interrupt('second?')\n    three = interrupt('third?')\n"
    "    return {'messages': [AIMessage(f'{one} {two} {three}')]}"
)
IN_A_SUBGRAPH = (
    ASKS_TWICE.replace("def node", "def deep")
    + "\n\n\ndef quick(state):\n    return {'thing': 1}\n\n\ndef quicker(state):\n    return {'thing': 2}\n"
    + "\n\nnode = StateGraph(State).add_sequence([quick, quicker, deep]).add_edge(START, 'quick').compile()"
)
NODES_OF_A_SUBGRAPH = (
    "class Deep(State, total=False):\n    said: str\n\n\n"
    "def first(state):\n    return {'said': interrupt('first?')}\n\n\n"
    "def second(state):\n    return {'said': f\"{state['said']} {interrupt('second?')}\"}\n\n\n"
    "def third(state):\n    return {'messages': [AIMessage(f\"{state['said']} {interrupt('third?')}\")]}\n\n\n"
    "node = StateGraph(Deep).add_sequence([first, second, third]).add_edge(START, 'first').compile()"
)

WITHOUT_MESSAGES = """
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class Trip(TypedDict, total=False):
    city: str
    plan: str


def plan(state):
    return {"plan": f"{interrupt('first?')} {interrupt('second?')}"}


graph = StateGraph(Trip).add_node("plan_trip", plan).add_edge(START, "plan_trip").compile()
"""


def list_asked(chat: Running) -> Sequence[Any]:
    return [each.value for each in chat.runner.list_questions(chat.thread_id)]


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_each_undo_takes_back_one_answer_and_each_redo_brings_one_back(
    body: str, is_slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_slow:
        delay_states(monkeypatch)

    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in ("a", "b", "c"):
            await answer(chat, each)
        assert chat.said()[-1] == ("ai", "done", "a b c")
        for asked in ("third?", "second?", "first?"):
            chat.store.undo(chat.thread_id)
            assert (list_asked(chat), chat.said()) == ([asked], [("human", "done", "go")])
        for asked in ("second?", "third?"):
            chat.store.redo(chat.thread_id)
            assert list_asked(chat) == [asked]
        chat.store.redo(chat.thread_id)
        assert (list_asked(chat), chat.said()[-1]) == ([], ("ai", "done", "a b c"))

    play(tmp_path, story, one_node(body))


def test_each_answer_to_a_graph_without_messages_is_an_undo_as_well(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say('{"city": "Rome"}')
        for each in ("a", "b"):
            await answer(chat, each)
        assert '"a b"' in chat.said()[-1][2]
        for asked in ("second?", "first?"):
            chat.store.undo(chat.thread_id)
            assert list_asked(chat) == [asked]
        chat.store.redo(chat.thread_id)
        await answer(chat, "c")
        assert '"a c"' in chat.said()[-1][2]

    play(tmp_path, story, WITHOUT_MESSAGES)


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_after_an_undo_another_answer_takes_the_place_of_that_one_alone(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in ("a", "b", "c"):
            await answer(chat, each)
        chat.store.undo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        assert (await answer(chat, "B")).state is RunState.WAITING
        assert list_asked(chat) == ["third?"]
        await answer(chat, "C")
        assert chat.said()[-1] == ("ai", "done", "a B C")
        for _ in range(3):
            chat.store.undo(chat.thread_id)
        for each in ("x", "y", "z"):
            await answer(chat, each)
        assert chat.said() == [("human", "done", "go"), ("ai", "done", "x y z")]

    play(tmp_path, story, one_node(body))


WITH_ITS_OWN_STATES = IN_A_SUBGRAPH.replace("quick, quicker, deep", "quick, deep").replace(
    ".compile()", ".compile(checkpointer=True)"
)


@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, WITH_ITS_OWN_STATES, NODES_OF_A_SUBGRAPH])
def test_another_answer_in_the_place_of_the_only_one_is_used(
    body: str, is_slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_slow:
        delay_states(monkeypatch)

    async def story(chat: Running) -> None:
        await chat.say("go")
        saved = str(chat.store.save(chat.thread_id, name="asked").result)
        for go_back in (chat.store.undo, lambda thread_id: chat.store.restore(thread_id, saved)):
            await answer(chat, "a")
            go_back(chat.thread_id)
            run = await answer(chat, "A")
            assert (run.state, run.error, list_asked(chat)) == (RunState.WAITING, None, ["second?"])
            chat.store.restore(chat.thread_id, saved)
        for each in ("x", "y", "z"):
            await answer(chat, each)
        assert chat.said()[-1] == ("ai", "done", "x y z")

    play(tmp_path, story, one_node(body))


def test_a_restore_to_the_first_question_takes_back_all_answers(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        saved = str(chat.store.save(chat.thread_id, name="asked").result)
        await answer(chat, "a")
        chat.store.restore(chat.thread_id, saved)
        assert list_asked(chat) == ["first?"]
        chat.store.undo(chat.thread_id)
        assert list_asked(chat) == ["second?"]

    play(tmp_path, story, one_node(ASKS_TWICE))


BESIDE = one_node(
    "ran = []\n\n\ndef one(state):\n    said = interrupt('one?')\n    ran.append(said)\n"
    "    return {'messages': [AIMessage('one ' + said)]}\n\n\n"
    "def node(state):\n    said = interrupt('two?')\n    return {'messages': [AIMessage(f'two {said}, ran {ran}')]}"
).replace(
    'builder.add_node("node", node)',
    'builder.add_node("node", node)\nbuilder.add_node("one", one)\nbuilder.add_edge(START, "one")',
)


def test_a_node_that_had_its_answer_does_not_run_again_when_that_of_another_is_taken_back(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "x", list_asked(chat).index("one?"))
        await answer(chat, "y")
        chat.store.undo(chat.thread_id)
        assert list_asked(chat) == ["two?"]
        await answer(chat, "z")
        assert {text for _, _, text in chat.said()} == {"go", "one x", "two z, ran ['x']"}

    play(tmp_path, story, BESIDE)


def test_a_node_that_writes_nothing_has_its_answer(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "x", list_asked(chat).index("one?"))
        assert list_asked(chat) == ["two?"]
        await answer(chat, "y")
        assert chat.said()[-1] == ("ai", "done", "two y, ran ['x']")

    play(tmp_path, story, BESIDE.replace("    return {'messages': [AIMessage('one ' + said)]}\n", ""))


def test_an_answer_is_named_in_the_log(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "a")
        found = chat.store.get_last_operation(chat.thread_id)
        assert found is not None
        assert (found.kind, found.actor, found.detail.subject) == ("append", "user", "question")
        await answer(chat, "b")
        await answer(chat, "c")
        found = chat.store.get_last_operation(chat.thread_id)
        assert found is not None
        assert (found.kind, found.actor, found.detail.subject) == ("append", "agent", None)

    play(tmp_path, story, one_node(ASKS_TWICE))


def test_an_answer_that_was_taken_back_is_not_that_of_its_question_when_another_is_answered(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "x", list_asked(chat).index("one?"))
        chat.store.undo(chat.thread_id)
        assert sorted(list_asked(chat)) == ["one?", "two?"]
        assert (await answer(chat, "y", list_asked(chat).index("two?"))).state is RunState.WAITING
        assert list_asked(chat) == ["one?"]
        await answer(chat, "z")
        assert {text for _, _, text in chat.said()} == {"go", "one z", "two y, ran ['x']"}

    play(tmp_path, story, BESIDE)


def test_a_subgraph_keeps_its_memory_over_turns_that_do_not_enter_it(tmp_path: Path) -> None:
    body = (
        "class Deep(State, total=False):\n    visits: int\n\n\n"
        "def deep(state):\n    visits = state.get('visits', 0) + 1\n"
        "    return {'visits': visits, 'messages': [AIMessage(f'{visits} visits')]}\n\n\n"
        "def node(state):\n    return {}\n\n\n"
        "memory = StateGraph(Deep).add_node('deep', deep).add_edge(START, 'deep').compile(checkpointer=True)"
    )
    text = one_node(body).replace(
        'builder.add_edge("node", END)',
        'builder.add_node("memory", memory)\n'
        "builder.add_conditional_edges('node', lambda state: 'memory' if state['messages'][-1].text == 'in' else END)",
    )

    async def story(chat: Running) -> None:
        for each in ("in", "out", "out", "in"):
            await chat.say(each)
        assert chat.said()[-1] == ("ai", "done", "2 visits")

    play(tmp_path, story, text)


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_a_checkpoint_between_two_answers_has_the_first_one(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "a")
        saved = str(chat.store.save(chat.thread_id, name="second").result)
        for count in (1, 2):
            for each in ("b", "c")[:count]:
                await answer(chat, each)
            chat.store.restore(chat.thread_id, saved)
            assert list_asked(chat) == ["second?"]
        await answer(chat, "B")
        assert list_asked(chat) == ["third?"]
        chat.store.undo(chat.thread_id)
        assert list_asked(chat) == ["second?"]
        chat.store.redo(chat.thread_id)
        await answer(chat, "C")
        assert chat.said()[-1] == ("ai", "done", "a B C")

    play(tmp_path, story, one_node(body))


def fork_here(chat: Running) -> str:
    """Go on on a new branch, and return the id of the one before."""
    thread = chat.store.get_thread(chat.thread_id)
    chat.store.fork(chat.thread_id, thread.head_id)
    return thread.branch_id


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_each_branch_has_its_own_answers(body: str, count: int, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "a")
        first = fork_here(chat)
        second = chat.store.get_thread(chat.thread_id).branch_id
        assert list_asked(chat) == ["second?"]
        for each in ("B", "C")[:count]:
            await answer(chat, each)
        chat.store.switch(chat.thread_id, first)
        assert list_asked(chat) == ["second?"]
        await answer(chat, "b")
        assert list_asked(chat) == ["third?"]
        chat.store.switch(chat.thread_id, second)
        if count == 1:
            await answer(chat, "C")
        assert chat.said()[-1] == ("ai", "done", "a B C")
        chat.store.switch(chat.thread_id, first)
        await answer(chat, "c")
        assert chat.said()[-1] == ("ai", "done", "a b c")

    play(tmp_path, story, one_node(body))


def test_answers_stand_or_are_undone_however_much_is_changed_after_them(tmp_path: Path) -> None:
    def rename_often(chat: Running) -> None:
        for number in range(60):
            chat.store.rename_thread(chat.thread_id, f"Trip {number}")

    async def story(chat: Running) -> None:
        await chat.say("go")
        await answer(chat, "a")
        await answer(chat, "b")
        chat.store.undo(chat.thread_id)
        rename_often(chat)
        assert list_asked(chat) == ["second?"]
        await answer(chat, "B")
        rename_often(chat)
        assert list_asked(chat) == ["third?"]
        await answer(chat, "c")
        assert chat.said()[-1] == ("ai", "done", "a B c")

    play(tmp_path, story, one_node(ASKS_TWICE))


def test_what_is_noted_of_each_answer_does_not_grow_with_the_results_beside_it(tmp_path: Path) -> None:
    asking = "def node(state):\n    said = [interrupt(each) for each in range(6)]\n"
    answering = "    return {'messages': [AIMessage(str(said))]}\n"
    quick = "\n\ndef one(state):\n    return {'thing': 'x' * 100_000}"
    text = one_node(asking + answering + quick).replace(
        'builder.add_node("node", node)',
        'builder.add_node("node", node)\nbuilder.add_node("one", one)\nbuilder.add_edge(START, "one")',
    )

    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in range(6):
            await answer(chat, f"a{each}")
        writes = schema.state_write.c
        with chat.store.database.begin_read() as connection:
            noted = sa.select(sa.func.sum(sa.func.length(writes.bytes))).where(writes.channel == REST_CHANNEL)
            assert (connection.scalar(noted) or 0) < 2 * 100_000
        for each in reversed(range(6)):
            chat.store.undo(chat.thread_id)
            assert list_asked(chat) == [each]
        for each in range(6):
            await answer(chat, f"b{each}")
        assert chat.said()[-1][2] == str([f"b{each}" for each in range(6)])
        assert len(read_channels(chat)["thing"]) == 100_000

    play(tmp_path, story, text)


async def answer_copy(chat: Running, value: Any) -> None:
    """Answer in a conversation whose events nobody follows."""
    (asked,) = chat.runner.list_questions(chat.thread_id)
    await chat.runner.resume(chat.thread_id, {asked.id: value}, caller=Caller())
    await chat.until(lambda: chat.thread_id not in chat.runs.list_running_threads(), seconds=20)


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_a_new_conversation_has_the_answers_that_stood_where_it_was_forked(body: str, goes_on: bool, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        source, asked_id = chat.thread_id, chat.store.get_thread(chat.thread_id).head_id
        await answer(chat, "a")
        saved = str(chat.store.save(source, name="second").result)
        if goes_on:
            await answer(chat, "x")
        at = saved if goes_on else None
        chat.thread_id = str(chat.store.fork_thread(source, asked_id, checkpoint_id=at).result)
        chat.store.undo(source)
        assert list_asked(chat) == ["second?"]
        await answer_copy(chat, "b")
        assert list_asked(chat) == ["third?"]
        (copied,) = chat.store.list_checkpoints(chat.thread_id)
        chat.store.restore(chat.thread_id, copied.id)
        assert list_asked(chat) == ["second?"]
        chat.thread_id = str(chat.store.fork_thread(chat.thread_id, chat.store.get_thread(chat.thread_id).head_id).result)
        for each in ("B", "C"):
            await answer_copy(chat, each)
        assert chat.said()[-1] == ("ai", "done", "a B C")

    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_a_branch_from_a_checkpoint_has_the_answers_that_stood_when_it_was_saved(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        asked_id = chat.store.get_thread(chat.thread_id).head_id
        await answer(chat, "a")
        saved = str(chat.store.save(chat.thread_id, name="second").result)
        await answer(chat, "x")
        chat.store.fork(chat.thread_id, asked_id, checkpoint_id=saved)
        assert list_asked(chat) == ["second?"]
        for each in ("B", "C"):
            await answer(chat, each)
        assert chat.said()[-1] == ("ai", "done", "a B C")

    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_a_branch_from_before_the_answers_asks_all_questions_again(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        thread = chat.store.get_thread(chat.thread_id)
        for each in ("a", "b", "c"):
            await answer(chat, each)
        chat.store.fork(chat.thread_id, thread.head_id)
        for each in ("A", "B"):
            assert (await answer(chat, each)).state is RunState.WAITING
        fork_here(chat)
        assert list_asked(chat) == ["third?"]
        assert (await answer(chat, "C")).state is RunState.DONE
        assert chat.said()[-1] == ("ai", "done", "A B C")
        chat.store.switch(chat.thread_id, thread.branch_id)
        assert (list_asked(chat), chat.said()[-1]) == ([], ("ai", "done", "a b c"))

    play(tmp_path, story, one_node(body))


ASKS_SIDE_BY_SIDE = one_node(
    """
beta_has_asked = asyncio.Event()


async def alpha(state):
    await beta_has_asked.wait()
    return {"messages": [AIMessage(f"alpha {interrupt('alpha?')}")]}


async def beta(state):
    beta_has_asked.set()
    return {"messages": [AIMessage(f"beta {interrupt('beta?')}")]}


def node(state):
    return {}
"""
).replace(
    'builder.add_edge(START, "node")',
    "\n".join(f"builder.add_node({each}).add_edge(START, '{each}')" for each in ("beta", "alpha"))
    + '\nbuilder.add_edge(["alpha", "beta"], "node")',
)


def test_questions_side_by_side_stand_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        assert list_asked(chat) == ["alpha?", "beta?"]
        await answer(chat, "b", question=1)
        assert list_asked(chat) == ["alpha?"]
        chat.store.undo(chat.thread_id)
        assert list_asked(chat) == ["alpha?", "beta?"]

    play(tmp_path, story, ASKS_SIDE_BY_SIDE)


def list_standing(chat: Running) -> list[str]:
    portion = chat.store.list_checkpoint_portion(chat.thread_id, 10)
    return [each.name for each in portion.checkpoints if each.id in portion.standing_ids]


@pytest.mark.parametrize("body", [ASKS_TWICE, IN_A_SUBGRAPH, NODES_OF_A_SUBGRAPH])
def test_a_conversation_stands_at_a_checkpoint_only_with_the_answers_of_then(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        saved = {"One": chat.store.save(chat.thread_id, name="One").result}
        chat.store.save(chat.thread_id, name="One again")
        assert list_standing(chat) == ["One", "One again"]
        await answer(chat, "a")
        assert list_standing(chat) == []
        saved["Two"] = chat.store.save(chat.thread_id, name="Two").result
        assert list_standing(chat) == ["Two"]
        chat.store.restore(chat.thread_id, saved["One"])
        assert (list_asked(chat), list_standing(chat)) == (["first?"], ["One", "One again"])
        chat.store.undo(chat.thread_id)
        assert (list_asked(chat), list_standing(chat)) == (["second?"], ["Two"])
        chat.store.restore(chat.thread_id, saved["One"])
        await answer(chat, "A")
        assert (list_asked(chat), list_standing(chat)) == (["second?"], [])
        chat.store.restore(chat.thread_id, saved["Two"])
        assert (list_asked(chat), list_standing(chat)) == (["second?"], ["Two"])
        await answer(chat, "b")
        await answer(chat, "c")
        assert (chat.said()[-1], list_standing(chat)) == (("ai", "done", "a b c"), [])

    play(tmp_path, story, one_node(body))


SUBGRAPHS_BESIDE = (
    HEAD
    + """
def make(tag):
    def draft(state):
        return {"messages": [AIMessage(f"{tag} draft")]}

    def ask(state):
        return {"messages": [AIMessage(f"{tag} {interrupt(tag)}")]}

    def ask_again(state):
        return {"messages": [AIMessage(f"{tag} {interrupt(tag + ' again')}")]}

    nodes = [draft, ask, ask_again] if tag == "beta" else [draft, ask]
    return StateGraph(MessagesState).add_sequence(nodes).add_edge(START, "draft").compile()


builder = StateGraph(MessagesState)
for tag in ("alpha", "beta", "gamma"):
    builder.add_node(tag, make(tag))
    builder.add_edge(START, tag)
graph = builder.compile()
"""
)
ALL_ASKED = ["alpha", "beta", "gamma"]


async def answer_to(chat: Running, question: str, value: str) -> None:
    asked = next(each for each in chat.runner.list_questions(chat.thread_id) if each.value == question)
    await chat.runner.resume(chat.thread_id, {asked.id: value}, caller=Caller())
    await chat.until(lambda: chat.thread_id not in chat.runs.list_running_threads(), seconds=20)


def list_drafts(chat: Running) -> Sequence[str]:
    return sorted(draft.text for draft in chat.runner.read_rest(chat.thread_id, with_drafts=True).drafts)


def list_answers(chat: Running) -> set[str]:
    return {text for kind, _, text in chat.said() if kind == "ai" and not text.endswith("draft")}


@pytest.mark.parametrize("asks_again", [False, True])
@pytest.mark.parametrize("order", [("alpha", "beta", "gamma"), ("beta", "gamma", "alpha")])
@pytest.mark.parametrize("way", ["undo", "restore", "fork", "new conversation"])
def test_an_answer_in_a_subgraph_that_was_left_stays_left_when_others_are_answered(
    way: str, order: Sequence[str], asks_again: bool, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        saved = str(chat.store.save(chat.thread_id, name="asked").result)
        head_id = chat.store.get_thread(chat.thread_id).head_id
        await answer_to(chat, "beta", "OLD")
        if way == "undo":
            chat.store.undo(chat.thread_id)
        elif way == "restore":
            chat.store.restore(chat.thread_id, saved)
        elif way == "fork":
            chat.store.fork(chat.thread_id, head_id, checkpoint_id=saved)
        else:
            chat.thread_id = str(chat.store.fork_thread(chat.thread_id, head_id, checkpoint_id=saved).result)
        assert (sorted(list_asked(chat)), list_drafts(chat)) == (ALL_ASKED, [f"{each} draft" for each in ALL_ASKED])
        waiting = {*ALL_ASKED}
        for tag in order:
            await answer_to(chat, tag, "NEW")
            waiting = (waiting - {tag}) | ({"beta again"} if tag == "beta" and asks_again else set())
            assert {*list_asked(chat)} == waiting
            assert {f"{each} draft" for each in waiting & {*ALL_ASKED}} <= {*list_drafts(chat)}
        if asks_again:
            await answer_to(chat, "beta again", "NEW too")
        assert list_answers(chat) == {f"{each} NEW" for each in ALL_ASKED} | ({"beta NEW too"} if asks_again else set())

    asking_once = SUBGRAPHS_BESIDE.replace("ask, ask_again]", "ask]")
    play(tmp_path, story, SUBGRAPHS_BESIDE if asks_again else asking_once)


def test_answers_in_subgraphs_that_stand_count_after_later_ones_were_taken_back_and_given_anew(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for tag in ("beta", "alpha", "beta again", "gamma"):
            await answer_to(chat, tag, "one")
        for _ in range(3):
            chat.store.undo(chat.thread_id)
        assert sorted(list_asked(chat)) == ["alpha", "beta again", "gamma"]
        for tag in ("gamma", "alpha"):
            await answer_to(chat, tag, "two")
        assert list_asked(chat) == ["beta again"]
        chat.store.undo(chat.thread_id)
        assert sorted(list_asked(chat)) == ["alpha", "beta again"]
        for tag in ("beta again", "alpha"):
            await answer_to(chat, tag, "three")
        assert list_answers(chat) == {"beta one", "gamma two", "beta three", "alpha three"}

    play(tmp_path, story, SUBGRAPHS_BESIDE)
