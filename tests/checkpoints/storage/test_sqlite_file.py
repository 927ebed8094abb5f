"""The file under the server: taken away, opened a second time, on a disk that is read-only, and without its log."""

import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoints import Database, Store, StoreInUseError, StoreUnavailableError
from checkpoints.storage import sqlite, sqlite_file
from checkpoints.upkeep.erasure import erase
from checkpoints.upkeep.verification import verify
from tests.checkpoints.conversations import new, talked, texts
from tests.read_only import as_nobody, close_folder


def _delete(file: Path) -> None:
    file.unlink()


def _delete_log(file: Path) -> None:
    sqlite.get_log_path(file).unlink()


def _move(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def _replace(file: Path) -> None:
    shutil.copy(file, file.with_name("copy.db"))
    file.with_name("copy.db").replace(file)


def _remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


WAYS = (_delete, _delete_log, _move, _replace, _remove_folder)


@pytest.mark.parametrize("take_away", WAYS)
def test_nothing_is_acknowledged_once_the_file_is_gone(
    file_store: Store, file: Path, take_away: Callable[[Path], None]
) -> None:
    thread_id = talked(file_store, "a", "b")
    take_away(file)
    for attempt in (lambda: file_store.append(thread_id, new("c")), file_store.database.check_health):
        with pytest.raises(
            StoreUnavailableError,
            match=r"waymark\.db(-wal)? was (deleted or moved|replaced by another file, or a copy,) while",
        ):
            attempt()
    assert "Nothing is saved any more" in file_store.database.outage
    assert texts(file_store, thread_id) == ["a", "b"]  # to be exported


@pytest.mark.parametrize("take_away", WAYS)
def test_a_change_is_not_acknowledged_when_the_file_goes_before_its_end(
    file_store: Store, file: Path, take_away: Callable[[Path], None]
) -> None:
    with pytest.raises(StoreUnavailableError, match=r"was (deleted|replaced)"), file_store.database.begin_write():
        take_away(file)


def test_a_file_that_is_put_back_is_used_again_at_once_and_a_copy_of_it_never(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a")
    former = file.rename(file.with_name("former.db"))
    shutil.copy(former, file)
    with pytest.raises(StoreUnavailableError, match=r"a copy, while Waymark runs.*: put the first one back"):
        file_store.append(thread_id, new("b"))
    former.replace(file)
    file_store.database.check_health()
    assert not file_store.database.outage
    file_store.append(thread_id, new("c"))


def test_a_missing_file_is_not_made_anew_by_a_reader(file_store: Store, file: Path) -> None:
    file_store.database.engine.dispose()
    file.unlink()
    with pytest.raises(StoreUnavailableError, match="was deleted"):
        file_store.list_threads()
    assert not file.exists()


def test_a_file_that_was_put_back_is_written_again(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    _move(file)
    with pytest.raises(StoreUnavailableError):
        file_store.append(thread_id, new("c"))
    file.with_name("elsewhere.db").rename(file)
    file_store.append(thread_id, new("c"))
    assert (texts(file_store, thread_id), file_store.database.outage) == (["a", "b", "c"], "")


def test_a_log_that_was_deleted_costs_nothing_that_was_acknowledged(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    _delete_log(file)
    file_store.database.close()
    reopened = Database.open_file(file)
    assert texts(Store(reopened), thread_id) == ["a", "b"]
    reopened.close()


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_another_name_of_the_file_lets_no_second_server_in(
    file_store: Store, file: Path, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    link(file, other / "waymark.db")
    with pytest.raises(StoreInUseError, match="is in use by another Waymark process"):
        Database.open_file(other / "waymark.db")
    assert talked(file_store, "a", "b")


def test_a_link_that_names_itself_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "waymark.db"
    file.symlink_to(file)
    with pytest.raises(StoreUnavailableError, match="cannot be used: Too many levels of symbolic links"):
        Database.open_file(file)


# A disk that is read-only


def _leave_log(file: Path) -> None:
    """Leave the files of a server that was killed."""
    database = Database.open_file(file)
    talked(Store(database), "c")
    copies = {path: path.read_bytes() for path in file.parent.glob("waymark.db*")}
    database.close()
    for path, content in copies.items():
        path.write_bytes(content)


@pytest.mark.parametrize("file_mode", [0o444, 0o666])
@pytest.mark.parametrize("prepare", [lambda _: None, _leave_log, _delete, lambda file: file.with_suffix(".lock").unlink()])
def test_a_start_in_a_read_only_folder_ends_in_a_sentence(
    public_file: Path, prepare: Callable[[Path], None], file_mode: int
) -> None:
    prepare(public_file)
    close_folder(public_file, file_mode=file_mode)
    for _ in range(2):
        with as_nobody(), pytest.raises(StoreUnavailableError, match=r"^The data folder .* cannot be used: .*\.$"):
            Database.open_file(public_file)


def test_a_database_that_was_closed_cleanly_is_read_in_a_read_only_folder(public_file: Path) -> None:
    before = {path: path.read_bytes() for path in public_file.parent.iterdir()}
    close_folder(public_file, file_mode=0o444)
    with as_nobody():
        database = Database.open_read_only(f"sqlite:///{public_file}")
        assert str(verify(database)).endswith("all whole.")
        [thread] = Store(database).list_threads()
        assert texts(Store(database), thread.id) == ["a", "b"]
        database.close()
    assert {path: path.read_bytes() for path in public_file.parent.iterdir()} == before


def test_a_log_in_a_read_only_folder_is_read_as_well(public_file: Path) -> None:
    _leave_log(public_file)
    close_folder(public_file, file_mode=0o444)
    with as_nobody():
        database = Database.open_read_only(f"sqlite:///{public_file}")
        assert verify(database).counts.messages == 3
        database.close()


# Another program's file


@pytest.mark.parametrize("mode", ["DELETE", "WAL", "WAL, and killed"])
@pytest.mark.parametrize("is_reader", [False, True])
def test_a_refused_file_of_another_program_is_not_changed_by_a_byte(file: Path, mode: str, is_reader: bool) -> None:
    file.parent.mkdir()
    other = sqlite3.connect(file)
    other.execute(f"PRAGMA journal_mode = {mode.partition(',')[0]}")
    other.execute("CREATE TABLE song (name TEXT)")
    copies = {path: path.read_bytes() for path in file.parent.iterdir()}
    other.close()
    if mode.endswith("killed"):
        for path, content in copies.items():
            path.write_bytes(content)
    before = {path.name: path.read_bytes() for path in file.parent.iterdir() if path.suffix != ".db-shm"}
    with pytest.raises(StoreUnavailableError, match="something else; it was not used"):
        Database.open_read_only(f"sqlite:///{file}") if is_reader else Database.open_file(file)
    now = {path.name: path.read_bytes() for path in file.parent.iterdir() if path.suffix not in (".db-shm", ".lock")}
    assert now == before


# Without its log


def _write_and_die(file: Path) -> str:
    """Write a conversation in a process that is killed at once. Return the conversation's id."""
    code = (
        "import os, signal, sys, pathlib; from checkpoints import *; from tests.checkpoints.conversations import talked;"
        "store = Store(Database.open_file(pathlib.Path(sys.argv[1]))); print(talked(store, 'a', 'b'), flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    child = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    assert child.returncode == -signal.SIGKILL, child.stderr
    return child.stdout.strip()


def _verify_file(file: Path) -> str:
    database = Database.open_read_only(f"sqlite:///{file}")
    try:
        report = verify(database)
    finally:
        database.close()
    return "\n".join(map(str, [*report.damages, report]))


def test_a_database_that_lost_its_log_is_not_called_whole(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    thread_id = _write_and_die(file)
    _delete_log(file)
    said = _verify_file(file)
    assert f"({thread_id}): it was saved, and is not in the file any more" in said
    assert "all whole" not in said
    with caplog.at_level(logging.WARNING):
        database = Database.open_file(file)
    assert "lost saved changes of 1 conversation:" in caplog.text
    talked(Store(database), "c")
    database.close()
    assert thread_id in _verify_file(file)  # also after a start on it
    file.with_suffix(".mark").unlink()
    assert _verify_file(file).endswith("all whole.")


def test_a_crash_that_keeps_its_log_is_called_whole(file: Path) -> None:
    _write_and_die(file)
    assert _verify_file(file).endswith("all whole.")
    Database.open_file(file).close()
    assert _verify_file(file).endswith("all whole.")
    assert sorted(path.name for path in file.parent.iterdir()) == ["waymark.db", "waymark.lock"]


def test_an_older_state_of_a_conversation_is_named(file_store: Store, file: Path, tmp_path: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    file_store.database._file.copy_log()  # type: ignore[union-attr]
    older = shutil.copy(file, tmp_path / "older.db")
    file_store.append(thread_id, new("c"))
    shutil.copy(file.with_suffix(".mark"), tmp_path / "older.mark")
    version = file_store.get_thread(thread_id).version
    assert f"its changes up to {version} were saved, and are not in the file any more" in _verify_file(Path(older))


def test_the_log_is_copied_into_the_file_soon_after_a_write(
    file_store: Store, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "CHECKPOINT_SECONDS", 0.01)
    thread_id = talked(file_store, "a", "b")
    end = time.monotonic() + 60
    while file.with_suffix(".mark").read_text() and time.monotonic() < end:
        time.sleep(0.01)
    shutil.copy(file, tmp_path / "alone.db")
    alone = Database.open_file(tmp_path / "alone.db")
    assert texts(Store(alone), thread_id) == ["a", "b"]
    alone.close()


def test_an_erased_conversation_is_not_missed(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    erase(file_store.database, thread_id)
    assert _verify_file(file).endswith("all whole.")


def test_a_new_database_has_its_tables_in_the_file_itself(file: Path, tmp_path: Path) -> None:
    database = Database.open_file(file)
    shutil.copy(file, tmp_path / "alone.db")
    database.close()
    alone = Database.open_read_only(f"sqlite:///{tmp_path / 'alone.db'}")
    assert Store(alone).list_threads() == []
    alone.close()


# SQLite's own lock of the connection that writes the log back into the file.
HOLD_CHECKPOINT_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_an_erasure_waits_for_another_connection_that_writes_the_log_back(
    file_store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = talked(file_store, "a", "b")
    log_index = f"{file}-shm"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_CHECKPOINT_LOCK, log_index], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        monkeypatch.setattr(sqlite, "sleep", lambda _: holder.communicate())
        erase(file_store.database, thread_id)
    assert sqlite.get_log_path(file).stat().st_size == 0
