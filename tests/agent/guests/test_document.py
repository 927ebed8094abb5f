"""The graph of docs/graphs.md, as a reader would copy it."""

import re
from pathlib import Path

from checkpoints import RunState
from tests.agent.guests.guests import answer
from tests.agent.guests.test_driving import play
from tests.agent.running import Running
from tests.app_process import ROOT


def test_the_graph_of_the_document_books_seats_and_forgets_them_with_an_undo(tmp_path: Path) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "graphs.md").read_text(), re.DOTALL)

    async def story(chat: Running) -> None:
        for seat, shown in (("7A", "Booked: 7A."), ("8B", "Booked: 7A, 8B.")):
            assert (await chat.say(seat)).state is RunState.WAITING
            assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == [f"Book {seat}?"]
            await answer(chat, "yes")
            assert chat.said()[-1] == ("ai", "done", shown)
        chat.store.undo(chat.thread_id)
        await answer(chat, "no")
        assert chat.said()[-1] == ("ai", "done", "Not booked.")
        await chat.say("9C")
        await answer(chat, "yes")
        assert chat.said()[-1] == ("ai", "done", "Booked: 7A, 9C.")

    play(tmp_path, story, source)
