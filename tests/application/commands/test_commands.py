"""The command line takes conversations out and in, looks after the database, and refuses with one sentence."""

import io
import json
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from application.commands import output, upkeep
from application.commands import transfer as transfer_commands
from application.commands.arguments import parse_arguments
from application.commands.running import run_command
from application.settings import Settings
from checkpoints import EVERYBODY, Database, Store, Thread, act_for
from checkpoints.interchange import import_limits, transfer
from checkpoints.storage import schema
from extensions.graphs import EXTENSION as GRAPHS
from server.terminal import ProgressLine
from tests.app_process import Ended, run_app
from tests.checkpoints.conversations import dump, new, talked, texts
from tests.checkpoints.interchange.test_transfer import with_stray
from tests.read_only import as_nobody, close_folder
from tests.servers import Server


@pytest.fixture
def folder(file: Path) -> Path:
    return file.parent


def run(folder: Path, *arguments: str) -> int:
    return run_command(parse_arguments(list(arguments)), Settings(data_dir=folder), [GRAPHS])


def refused(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence that it says."""
    assert run(folder, *arguments) == output.EXIT_REFUSED
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err.strip()


def test_an_exported_conversation_is_imported_as_a_new_one_and_only_once(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id = talked(file_store, "one", "two")
    assert run(folder, "export", thread_id, "-o", str(tmp_path / "talk.json")) == 0
    assert stat.S_IMODE((tmp_path / "talk.json").stat().st_mode) == 0o600
    file_store.database.close()
    for _ in range(2):
        assert run(tmp_path / "other", "import", str(tmp_path / "talk.json")) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert (first.partition(":")[0], second.partition(":")[0]) == ("Imported", "It was here already")
    other = Store(Database.open_file(tmp_path / "other" / "waymark.db"))
    assert [texts(other, thread.id) for thread in other.list_threads()] == [["one", "two"]]
    other.database.close()


def test_a_conversation_goes_to_the_output_where_no_file_is_named(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id = talked(file_store, "one", "two")
    assert run(folder, "export", thread_id) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "waymark/1"
    assert run(folder, "export", thread_id, "--markdown") == 0
    assert "two" in capsys.readouterr().out
    assert run(folder, "export", thread_id, "--jsonl") == 0
    assert [m["content"] for m in json.loads(capsys.readouterr().out)["messages"]][-2:] == ["one", "two"]
    assert run(folder, "export", thread_id, "--format", "html") == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert run(folder, "export", thread_id, "--redact", "two") == 0
    assert "two" not in capsys.readouterr().out


def test_a_plain_export_is_redacted_by_nothing(
    file_store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id = talked(file_store, "one")
    monkeypatch.setattr(transfer_commands, "Redaction", None)
    assert run(folder, "export", thread_id) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("MAX_DOCUMENT_BYTES", 999, "The file is larger than 0 MB."),
        ("MAX_BRANCHES_AND_CHECKPOINTS", 1, "branches are too many: at most 1 branches and checkpoints can be imported."),
    ],
)
def test_an_export_that_no_import_takes_says_so(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str], limit: str, value: int, reason: str
) -> None:
    thread_id = talked(file_store, "one", "é" * 500)
    file_store.fork(thread_id, None)
    file_store.fork(thread_id, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_limits, limit, value)
        assert run(folder, "export", thread_id) == 0
        said = capsys.readouterr()
        assert run(folder, "export", thread_id, "--markdown") == 0
    assert said.err == f"The export of {thread_id} cannot be imported again. {reason}\n"
    assert json.loads(said.out)["format"] == "waymark/1"
    assert capsys.readouterr().err == ""


def test_all_conversations_are_exported_but_those_that_are_damaged(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = talked(file_store, "one"), talked(file_store, "two")
    with file_store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.thread_id == bad).values(body="{}"))
    assert run(folder, "export", "--all", "-o", str(tmp_path / "out")) == output.EXIT_REFUSED
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"Talk-{good}.json"]
    assert f"({bad}): Message 1 of this conversation is damaged" in capsys.readouterr().err


def test_conversations_are_exported_whatever_a_program_called_them(
    file_store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter(
        ["users/42", "branch 1", "../../../EVIL", "branch 2", "x" * 300, "branch 3", "a", "branch 4", "A", "branch 5"]
    )
    with monkeypatch.context() as patch:
        patch.setattr(file_store, "new_id", lambda: next(made))
        for title in ("\U00020000" * 60, "..", "CON", "same", "same"):
            file_store.create_thread(title=title)
    assert run(folder, "export", "--all", "-o", str(tmp_path / "out")) == 0
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert len({name.casefold() for name in names}) == 5
    assert {path.name for path in tmp_path.iterdir()} == {folder.name, "out"}
    assert not any(name.startswith((".", "-")) or len(name.encode()) > 255 for name in names)


def test_an_id_of_several_lines_does_not_end_the_line_that_names_it(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_store, "new_id", iter(["x\nEverything is sound.", "branch", *map(str, range(99))]).__next__)
        bad = talked(file_store, "one")
    with file_store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.thread_id == bad).values(body="{}"))
    assert "x\\nEverything" in refused(folder, capsys, "export", "--all", "-o", str(tmp_path / "out"))
    assert run(folder, "verify") == output.EXIT_DAMAGED
    assert not [line for line in capsys.readouterr().out.splitlines() if line.startswith("Everything")]


def test_the_names_of_redacted_files_are_redacted(file_store: Store, folder: Path, tmp_path: Path) -> None:
    thread_id = talked(file_store, "a", "b")
    file_store.rename_thread(thread_id, "Ask Jane tomorrow")
    assert run(folder, "export", "--all", "--redact", "Jane", "-o", str(tmp_path / "out")) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"Ask-redacted-tomorrow-{thread_id}.json"]


def test_an_archive_is_imported_file_by_file(file_store: Store, folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in ("one", "two"):
            archive.writestr(f"{name}.json", transfer.export(file_store, talked(file_store, name, "b")))
    assert run(tmp_path / "other", "import", str(tmp_path / "all.zip")) == 0
    other = Store(Database.open_file(tmp_path / "other" / "waymark.db"))
    assert sorted(texts(other, thread.id)[0] for thread in other.list_threads()) == ["one", "two"]
    other.database.close()


def test_an_import_goes_into_a_conversation_that_is_named(file_store: Store, folder: Path, tmp_path: Path) -> None:
    thread_id = talked(file_store, "one", "two")
    assert run(folder, "export", thread_id, "-o", str(tmp_path / "talk.json")) == 0
    file_store.append(thread_id, new("three"))
    file_store.database.close()
    assert run(folder, "import", str(tmp_path / "talk.json"), "--into", thread_id) == 0
    store = Store(Database.open_file(folder / "waymark.db"))
    assert texts(store, thread_id) == ["one", "two", "three"]
    assert len(store.list_threads()) == 1
    store.database.close()


def test_an_import_says_what_it_leaves_out(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talk.json").write_text(with_stray(transfer.export(file_store, talked(file_store, "one")), size=1))
    assert run(tmp_path / "other", "import", str(tmp_path / "talk.json")) == 0
    assert capsys.readouterr().err == "It holds 1 message that nothing shows: it is left out.\n"


def test_an_import_keeps_a_graph_of_the_settings_or_takes_the_one_that_is_named(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id, file = talked(file_store, "one"), str(tmp_path / "talk.json")
    file_store.change_settings(thread_id, {"graph": "theirs"})
    Path(file).write_text(transfer.export(file_store, thread_id), encoding="utf-8")

    def import_file(name: str, settings: dict[str, Any], *options: str) -> tuple[int, Any, str]:
        """The exit code, the conversation's graph, and what was said beside it."""
        chosen = Settings(data_dir=tmp_path / name, **settings)
        code = run_command(parse_arguments(["import", file, *options]), chosen, [GRAPHS])
        if code != 0:
            return code, None, capsys.readouterr().err
        store = Store(Database.open_file(tmp_path / name / "waymark.db"))
        (thread,) = store.list_threads()
        store.database.close()
        return code, thread.settings.get("graph"), capsys.readouterr().err

    (tmp_path / "some.py").touch()
    offered: dict[str, Any] = {
        "graph": f"{tmp_path}/some.py:ours",
        "graphs": {"theirs": {"path": f"{tmp_path}/some.py:other"}},
    }
    kept = "As a new conversation, the graph {} answers it.\n"
    gone = "Its graph theirs is not offered here: as a new conversation, the built-in agent answers it.\n"
    assert import_file("kept", offered) == (0, "theirs", kept.format("theirs"))
    assert import_file("chosen", offered, "--graph", "ours") == (0, "ours", kept.format("ours"))
    assert import_file("gone", {}) == (0, None, gone)
    refusals = [
        import_file("unknown", offered, "--graph", "ourz"),
        import_file("none", {}, "--graph", "ours"),
    ]
    assert [said for _, _, said in refusals] == [
        "The settings have no graph 'ourz'. Choose one of: ours, theirs.\n",
        "The settings have no graph 'ours'. They have none: name one in GRAPH or waymark.toml.\n",
    ]
    assert not (tmp_path / "unknown" / "waymark.db").exists()


def test_verify_says_what_it_looked_at_and_ends_with_1_where_something_is_damaged(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talked(file_store, "one", "two")
    assert run(folder, "verify") == 0
    assert capsys.readouterr().out == "1 conversation, 2 messages, 1 checkpoint, 2 changes: all whole.\n"
    with file_store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.depth == 1).values(body="{}"))
    assert run(folder, "verify") == output.EXIT_DAMAGED
    named, summary = capsys.readouterr().out.splitlines()
    assert named.startswith("conversation 'Talk'")
    assert named.endswith("is damaged: its content does not fit its hash")
    assert summary.endswith(": 1 damage. The search's index was not compared with them.")


def test_an_index_that_differs_is_named_and_made_again(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talked(file_store, "one", "two")
    with file_store.database.begin_write() as connection:
        connection.execute(sa.delete(schema.search_entry).where(schema.search_entry.c.depth == 1))
    assert run(folder, "verify") == output.EXIT_DAMAGED
    assert "1 message or checkpoint cannot be found. `python app.py reindex` makes it again" in capsys.readouterr().out
    assert "is in use" in refused(folder, capsys, "reindex")
    file_store.database.close()
    assert run(folder, "reindex") == 0
    assert capsys.readouterr().out == "Indexed: 3 messages and checkpoints.\n"
    assert run(folder, "verify") == 0


def test_a_database_that_was_closed_is_exported_and_verified_in_a_read_only_folder(
    public_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    close_folder(public_file, file_mode=0o444)
    with as_nobody():
        assert run(public_file.parent, "verify") == 0
        assert capsys.readouterr().out.endswith("all whole.\n")
        [thread_id] = [thread.id for thread in list_threads(public_file)]
        assert run(public_file.parent, "export", thread_id) == 0
        assert json.loads(capsys.readouterr().out)["format"] == "waymark/1"
        for command in (("erase", thread_id, "--yes"), ("import", str(public_file))):
            assert refused(public_file.parent, capsys, *command)


def list_threads(file: Path) -> list[Thread]:
    database = Database.open_read_only(f"sqlite:///{file}")
    try:
        return Store(database).list_threads()
    finally:
        database.close()


def test_erasing_says_what_goes_and_needs_a_yes(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, kept = talked(file_store, "one", "two"), talked(file_store, "three")
    file_store.database.close()
    assert run(folder, "erase", gone) == output.EXIT_REFUSED
    assert "--yes" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    for answer, said in (("n", "Nothing was erased."), ("y", "Erased.")):
        monkeypatch.setattr("builtins.input", lambda _, answer=answer: answer)
        assert run(folder, "erase", gone) == 0
        asked, ended = capsys.readouterr().out.splitlines()
        assert asked.startswith("This will erase the conversation 'Talk', 2 messages, 1 checkpoint. It cannot be undone.")
        assert ended == said
    store = Store(Database.open_file(folder / "waymark.db"))
    assert [thread.id for thread in store.list_threads()] == [kept]
    store.database.close()


def test_a_person_without_an_account_is_erased_by_name(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_store.database.separate_owners()
    with act_for("ann"):
        kept = talked(file_store, "one", "two")
    with act_for("bob"):
        talked(file_store, "three")
    file_store.database.close()
    assert run(folder, "erase", "--person", "cleo", "--yes") == output.EXIT_REFUSED
    assert run(folder, "erase", "--person", "bob", "--dry-run") == 0
    assert "This would erase bob: 1 conversation with 1 message" in capsys.readouterr().out
    assert run(folder, "erase", "--person", "bob", "--yes") == 0
    database = Database.open_file(folder / "waymark.db")
    with act_for(EVERYBODY), database.begin_read() as connection:
        assert connection.exec_driver_sql("SELECT id, owner FROM thread").fetchall() == [(kept, "ann")]
    database.close()


def test_what_nothing_reaches_is_erased_with_and_without_its_undo(
    file_store: Store, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id = talked(file_store, "one", "two")
    file_store.clear(thread_id)
    file_store.database.close()
    assert run(folder, "erase", "--unreachable", "--yes") == 0
    assert capsys.readouterr().out == "There is nothing to erase.\n"
    assert run(folder, "erase", "--unreachable", "--forget-undo", "--dry-run") == 0
    would, _, ended = capsys.readouterr().out.partition(". ")
    assert (would[:26], ended) == ("This would erase 2 message", "Nothing was erased.\n")
    assert run(folder, "erase", "--unreachable", "--forget-undo", "--yes") == 0
    assert "the undo of 3 changes" in capsys.readouterr().out


def test_a_run_that_a_crash_left_behind_does_not_keep_a_conversation_from_being_erased(
    file_store: Store, folder: Path
) -> None:
    from checkpoints import Runs

    thread_id = Runs(file_store).begin_run(None, new("question")[0]).thread_id
    file_store.database.close()
    assert run(folder, "erase", thread_id, "--yes") == 0
    store = Store(Database.open_file(folder / "waymark.db"))
    assert [name for name, rows in dump(store).items() if rows] == ["audit_entry"]
    store.database.close()


def test_what_cannot_be_done_is_refused_with_one_sentence(
    file_store: Store, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread_id = talked(file_store, "one")
    (there := tmp_path / "there").write_text("{}")
    nowhere = tmp_path / "nowhere"
    assert refused(folder, capsys, "export", "nobody") == "There is no conversation 'nobody'."
    assert refused(folder, capsys, "export", thread_id, "-o", str(there)).endswith("nothing was overwritten.")
    assert refused(folder, capsys, "export", "--all") == "--all needs a folder: add -o FOLDER."
    assert refused(folder, capsys, "backup", str(there)).endswith("nothing was overwritten.")
    assert refused(folder, capsys, "import", str(nowhere)) == f"{nowhere}: No such file or directory."
    assert refused(folder, capsys, "import", str(there)).endswith("This file is neither.")
    assert refused(folder, capsys, "erase", thread_id, "--yes").endswith("or choose another DATA_DIR.")
    assert refused(folder, capsys, "erase", thread_id, "--forget-undo").endswith("goes with --unreachable.")
    assert refused(nowhere, capsys, "verify") == f"There is no database at {nowhere / 'waymark.db'}."
    assert refused(nowhere, capsys, "erase", thread_id) == f"There is no database at {nowhere / 'waymark.db'}."
    assert not nowhere.exists()


@pytest.mark.slow
def test_beside_a_running_server_what_reads_works_and_what_writes_is_refused(file_store: Store, folder: Path) -> None:
    thread_id = talked(file_store, "one", "two")
    file_store.database.close()

    def waymark(*arguments: str) -> Ended:
        environment = {"DATA_DIR": str(folder), "PATH": "/usr/bin", "OPENAI_API_KEY": "sk-never-shown"}
        return run_app(folder, environment, *arguments)

    with Server(folder):
        exported, verified = waymark("export", thread_id), waymark("verify")
        saved, erased = waymark("backup", "copy.db"), waymark("erase", thread_id, "--yes")
    assert [each.returncode for each in (exported, verified, saved, erased)] == [0, 0, 0, 2], exported
    assert json.loads(exported.stdout)["thread"]["title"] == "Talk"
    assert erased.stderr.startswith(str(folder / "waymark.db"))
    assert "is in use by another Waymark process" in erased.stderr
    assert "sk-never-shown" not in "".join(each.stdout + each.stderr for each in (exported, verified, saved, erased))


def test_an_import_of_a_file_of_another_product_names_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "conversations.json"
    file.write_text('[{"chat_messages": []}]')
    can_read = "Waymark reads its own files (waymark/1) and exports of Open WebUI."
    assert refused(folder, capsys, "import", str(file)).endswith(f"This is an export of Claude. {can_read}")


def test_a_file_cannot_write_escape_codes_to_the_terminal(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad\x1b[2J.json"
    bad.write_text(json.dumps({"format": "waymark/1", "\x1b]0;title\x07": 1}))
    said = refused(folder, capsys, "import", str(bad)) + refused(folder, capsys, "import", f"{bad}x")
    assert "\x1b" not in said
    assert "\\x1b" in said


class DrawnLine(ProgressLine):
    def show(self, text: object) -> None:
        super().show(text)
        self.draw()


def watch_terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Make the error output a terminal on which every report is drawn at once."""
    output = io.StringIO()
    monkeypatch.setattr(output, "isatty", lambda: True)
    for module in (transfer_commands, upkeep):
        monkeypatch.setattr(module, "ProgressLine", DrawnLine)
    monkeypatch.setattr(sys, "stderr", output)
    return output


def test_each_long_command_says_how_far_it_is_in_one_line_and_clears_it(
    file_store: Store,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = watch_terminal(monkeypatch)
    thread_id = talked(file_store, "one", "two")
    file, expected = str(tmp_path / "talk.json"), {}
    expected["export", thread_id, "-o", file] = ["Reading: 1 of 2 messages", "Writing the file…"]
    expected["verify",] = ["Checking: 2 of 2 messages"]
    expected["backup", str(tmp_path / "copy.db")] = ["pages", "Checking the copy…"]
    expected["import", file] = ["Reading the file…", "Checking: 1 of 2 messages", "Writing: 2 of 2 messages"]
    expected["export", "--all", "-o", str(tmp_path / "all")] = ["Exporting: 1 of 2 conversations (Reading: 2 of 2 messages)"]
    expected["erase", thread_id, "--yes"] = [
        "Counting: 1 of 1 conversations",
        "Erasing: 2 of 2 messages",
        "Rewriting the file…",
    ]
    for command, texts_of_it in expected.items():
        if command[0] in ("import", "erase"):
            file_store.database.close()
        assert run(folder, *command) == 0
        said = terminal.getvalue()
        assert all(text in said for text in texts_of_it), said
        assert "\n" not in said
        assert said.endswith("\r")
        terminal.seek(0)
        terminal.truncate()
    assert "\r" not in capsys.readouterr().out


def test_an_interrupted_import_is_one_word_and_writes_nothing(
    file_store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "export", talked(file_store, "one"), "-o", str(tmp_path / "talk.json")) == 0
    file_store.database.close()

    def interrupt(_: object, text: object) -> None:
        if str(text).startswith("Writing"):
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "show", interrupt)
    assert run(folder, "import", str(tmp_path / "talk.json")) == output.EXIT_INTERRUPTED
    assert capsys.readouterr() == ("", "Interrupted.\n")
    assert len(list_threads(folder / "waymark.db")) == 1


def test_a_refusal_among_many_exports_has_a_line_of_its_own(
    file_store: Store, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = watch_terminal(monkeypatch)
    talked(file_store, "one")
    bad = talked(file_store, "two")
    with file_store.database.begin_write() as connection:
        connection.execute(sa.update(schema.message).where(schema.message.c.thread_id == bad).values(body="{}"))
    assert run(folder, "export", "--all", "-o", str(tmp_path / "all")) == output.EXIT_REFUSED
    [refusal] = [line for line in terminal.getvalue().splitlines() if "is damaged" in line]
    assert refusal.startswith("Talk (")
