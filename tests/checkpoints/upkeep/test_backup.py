"""A backup is a whole database of its own, or there is none."""

import stat
from pathlib import Path

import pytest

from checkpoints import Database, Store
from checkpoints.upkeep.backup import write_backup
from checkpoints.values.errors import BackupError
from tests.checkpoints.conversations import dump, talked


def test_a_backup_holds_everything_that_was_written_until_then_and_only_its_owner_reads_it(
    file_store: Store, file: Path, tmp_path: Path
) -> None:
    talked(file_store, "one", "two")
    expected = dump(file_store)
    write_backup(file_store.database, target := tmp_path / "copy.db")
    talked(file_store, "three")
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "data"]
    database = Database.open_file(target)
    assert dump(Store(database)) == expected
    database.close()


def test_a_backup_is_made_beside_the_process_that_has_the_file(file_store: Store, file: Path, tmp_path: Path) -> None:
    talked(file_store, "one")
    reader = Database.open_read_only(f"sqlite:///{file}")
    write_backup(reader, target := tmp_path / "copy.db")
    reader.close()
    copy = Database.open_read_only(f"sqlite:///{target}")
    assert dump(Store(copy)) == dump(file_store)
    copy.close()


def test_a_backup_overwrites_nothing(file_store: Store, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("mine")
    with pytest.raises(BackupError, match="is there already"):
        write_backup(file_store.database, target)
    assert target.read_text() == "mine"


def test_what_came_to_the_place_of_a_backup_meanwhile_stays(
    file_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "precious"
    monkeypatch.setattr("checkpoints.upkeep.backup._check_copy", lambda _: target.write_text("mine"))
    with pytest.raises(BackupError, match="is there already"):
        write_backup(file_store.database, target)
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "precious"]


def test_a_backup_that_cannot_be_written_says_why_and_leaves_nothing(file_store: Store, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="No such file or directory"):
        write_backup(file_store.database, tmp_path / "nowhere" / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_database_on_postgresql_is_left_to_pg_dump(postgres_store: Store, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="pg_dump"):
        write_backup(postgres_store.database, tmp_path / "copy.db")
