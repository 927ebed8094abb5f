"""Going back in a run that has ended: the question of then is asked again, and takes another answer."""

import json
from pathlib import Path

import pytest

from checkpoints import Caller
from tests.agent.running import Running
from tests.extensions.graphs.test_driving import play
from tests.extensions.graphs.test_earlier_answers import answer_to, list_asked
from tests.extensions.graphs.test_exported_answers import CALLS_BY_A_TASK, IN_AN_ENTRYPOINT, move_by_file

ASKED = [f"{each}?" for each in ("first", "second", "third", "fourth", "fifth")]


@pytest.mark.parametrize("place", [2, 3, 4])
@pytest.mark.parametrize("way", ["undo", "restore", "fork"])
def test_a_question_of_a_graph_that_a_task_has_called_takes_another_answer(way: str, place: int, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        head_id, saved = chat.store.get_thread(chat.thread_id).head_id, ""
        for number, each in enumerate(ASKED):
            if number == place:
                saved = str(chat.store.save(chat.thread_id).result)
            await answer_to(chat, each, "old")
        if way == "undo":
            for _ in ASKED[place:]:
                chat.store.undo(chat.thread_id)
        elif way == "restore":
            chat.store.restore(chat.thread_id, saved)
        else:
            chat.store.fork(chat.thread_id, head_id, checkpoint_id=saved)
        for each in ASKED[place:]:
            assert list_asked(chat) == [each]
            await answer_to(chat, each, "new")
        assert chat.said()[-1] == ("ai", "done", " ".join(["old"] * place + ["new"] * (5 - place)))

    play(tmp_path, story, CALLS_BY_A_TASK)


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("way", ["fork", "restore", "new conversation"])
def test_a_function_asks_again_at_its_message(way: str, count: int, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("no questions")
        await chat.say("go")
        head_id = str(chat.store.get_thread(chat.thread_id).head_id)
        for each in ASKED[:count]:
            await answer_to(chat, each, "old")
        if count < 3:
            # A branch at the head keeps what was answered there.
            await chat.say("no questions")
        if way == "fork":
            chat.store.fork(chat.thread_id, head_id)
        elif way == "restore":
            chat.store.restore_message(chat.thread_id, head_id)
        else:
            chat.thread_id = str(chat.store.fork_thread(chat.thread_id, head_id).result)
        for each in ASKED[:3]:
            assert list_asked(chat) == [each]
            await answer_to(chat, each, "new")
        assert json.loads(chat.said()[-1][2].strip("`json\n")) == {"output": ["no questions", "go", ["new"] * 3]}

    play(tmp_path, story, IN_AN_ENTRYPOINT)


def test_a_function_of_a_file_ends_with_nothing_at_no_message(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("go")
        for each in ASKED[:3]:
            await answer_to(chat, each, "old")
        move_by_file(chat)
        chat.store.fork(chat.thread_id, chat.path()[0].id)
        await chat.runner.resume(chat.thread_id, {}, caller=Caller())
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert chat.said() == [("human", "done", "go")]
        await chat.runner.retry(chat.thread_id, caller=Caller())
        await chat.until(lambda: not chat.runs.list_running_threads())
        assert list_asked(chat) == ["first?"]

    play(tmp_path, story, IN_AN_ENTRYPOINT)
