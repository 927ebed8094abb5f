"""A newer schema comes to a PostgreSQL that processes of this version serve, under load."""

import signal
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from checkpoints import RunState
from checkpoints.storage import migrations
from checkpoints.upkeep import verification
from tests.checkpoints.storage.test_upgrades import NEWER, bring_newer
from tests.faults.test_several_processes import TOOL, Fleet, until

pytestmark = pytest.mark.slow


def test_no_question_is_lost_while_the_schema_expands_and_old_processes_end_and_start(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, postgres_url, 2, stack)
        asked, is_over = list[str](), threading.Event()

        def ask_repeatedly() -> None:
            while not is_over.is_set():
                asked.append(fleet.ask(fleet.servers[0], TOOL))

        person = threading.Thread(target=ask_repeatedly)
        person.start()
        try:
            until(lambda: len(asked) >= 2)
            with monkeypatch.context() as patch:
                bring_newer(patch, tmp_path / "newer", "expand")
                migrations.upgrade_schema(fleet.store.database.engine)
            before = len(asked)
            until(lambda: len(asked) >= before + 2)
            assert fleet.servers[1].stop() in (0, -signal.SIGTERM)
            fleet.servers[1].restart()  # of the version before
            asked.append(fleet.ask(fleet.servers[1], TOOL))
        finally:
            is_over.set()
            person.join()
        for thread_id in asked:
            until(lambda thread_id=thread_id: fleet.run_of(thread_id).state is not RunState.RUNNING)  # type: ignore[misc]
            assert fleet.run_of(thread_id).state is RunState.DONE
            assert [kind for kind, _ in fleet.texts(thread_id)] == ["human", "ai", "tool", "ai"]
        with fleet.store.database.begin_read() as connection:
            assert migrations.read_revision(connection) == NEWER
        assert verification.verify(fleet.store.database).damages == ()
