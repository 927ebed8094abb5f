"""Going back in a run that has ended: the question asked there takes another answer."""

from pathlib import Path

import pytest

from tests.agent.running import Running
from tests.agent.user_graphs.test_driving import play
from tests.agent.user_graphs.test_earlier_answers import answer_to, list_asked
from tests.agent.user_graphs.test_exported_answers import CALLS_BY_A_TASK

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
