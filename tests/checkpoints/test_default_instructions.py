"""The instructions of a person for all of their conversations."""

import json

import pytest

from checkpoints import EVERYBODY, Store, act_for
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.interchange import transfer
from checkpoints.values.errors import InstructionsChangedError, InvalidInstructionsError, ReadOnlyError
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from tests.checkpoints import tables
from tests.checkpoints.conversations import talked
from tests.hostile_texts import TAGS

FRENCH = "Answer in French."


def test_the_text_is_kept_replaced_and_removed(store: Store) -> None:
    defaults = DefaultInstructions(store)
    assert defaults.read() == ""
    for text, kept in ((f" {FRENCH}\n", FRENCH), (TAGS[0], TAGS[0]), (FRENCH, FRENCH), (" \n", "")):
        defaults.save_text(text)
        assert defaults.read() == kept
    assert tables.read(store)["default_instructions"] == {}


def test_a_text_that_is_too_long_changes_nothing(memory_store: Store) -> None:
    defaults = DefaultInstructions(memory_store)
    defaults.save_text("x" * MAX_INSTRUCTIONS_CHARS)
    with pytest.raises(InvalidInstructionsError, match=r"longer than 8,000 characters"):
        defaults.save_text("y" * (MAX_INSTRUCTIONS_CHARS + 1))
    assert defaults.read() == "x" * MAX_INSTRUCTIONS_CHARS


def test_a_text_that_was_changed_elsewhere_is_not_replaced_unseen(store: Store) -> None:
    defaults = DefaultInstructions(store)
    assert defaults.save_text(f" {FRENCH}", seen="") == FRENCH
    with pytest.raises(InstructionsChangedError) as refused:
        defaults.save_text("Be brief.", seen="")
    assert refused.value.text == defaults.read() == FRENCH
    defaults.save_text(FRENCH, seen="")  # nothing is lost
    defaults.save_text("Be brief.", seen=refused.value.text)
    assert defaults.read() == "Be brief."


def test_each_person_has_their_own(store: Store) -> None:
    store.database.separate_owners()
    defaults = DefaultInstructions(store)
    for person in ("ann", "bob"):
        with act_for(person):
            defaults.save_text(f"Answer {person}.")
    with act_for("ann"):
        assert (defaults.read(), defaults.read_for("ann")) == ("Answer ann.", "Answer ann.")
        assert defaults.read_for("bob") == ""
        defaults.save_text("")
    with act_for("bob"):
        assert defaults.read() == "Answer bob."
    with act_for("carol"):
        assert defaults.read() == ""
    with act_for("bob", only_reads=True), pytest.raises(ReadOnlyError):
        defaults.save_text(FRENCH)


def test_they_are_in_no_export_and_an_import_brings_none(store: Store) -> None:
    defaults, thread_id = DefaultInstructions(store), talked(store, "hello")
    defaults.save_text(FRENCH)
    exported = transfer.export(store, thread_id)
    assert FRENCH not in json.dumps(exported)
    with act_for(EVERYBODY):
        rows = tables.read(store)
    assert [name for name in rows if FRENCH in str(rows[name])] == ["default_instructions"]
