"""The library of prompts."""

import pytest

from checkpoints import Store
from checkpoints.saved_prompts import SavedPrompt, SavedPrompts
from checkpoints.storage import schema
from checkpoints.values.errors import InvalidPromptError, PromptNotFoundError
from checkpoints.values.limits import MAX_SAVED_PROMPT_CHARS, MAX_SAVED_PROMPTS
from tests.hostile_texts import TAGS


def test_a_prompt_is_saved_once_changed_deleted_and_saved_again(store: Store) -> None:
    prompts = SavedPrompts(store)
    prompts.save_prompt("b", "summary", "Sum up {{text}}")
    prompts.save_prompt("a", "Review", TAGS[0])
    prompts.save_prompt("b", "Summary\n", "Sum up {{text}} in {{n}} lines")
    assert prompts.list_prompts() == [
        SavedPrompt("a", "Review", TAGS[0]),
        SavedPrompt("b", "Summary", "Sum up {{text}} in {{n}} lines"),
    ]
    deleted = prompts.delete_prompt("b")
    with pytest.raises(PromptNotFoundError):
        prompts.get_prompt("b")
    prompts.save_prompt(deleted.id, deleted.name, deleted.text)
    assert prompts.get_prompt("b") == deleted


@pytest.mark.parametrize(
    ("name", "text"), [("", "x"), ("x", " \n"), ("\u202e", "x"), ("x", "y" * (MAX_SAVED_PROMPT_CHARS + 1))]
)
def test_a_prompt_that_cannot_be_used_is_refused(memory_store: Store, name: str, text: str) -> None:
    prompts = SavedPrompts(memory_store)
    with pytest.raises(InvalidPromptError):
        prompts.save_prompt("a", name, text)
    assert prompts.list_prompts() == []


def test_the_library_has_a_limit_and_an_owner(memory_store: Store) -> None:
    prompts = SavedPrompts(memory_store)
    with memory_store.database.begin_write() as connection:
        rows = [
            {"id": f"{n}", "owner": "local", "name": "x", "text": "y", "updated_at": 0} for n in range(MAX_SAVED_PROMPTS)
        ]
        connection.execute(schema.saved_prompt.insert(), rows)
    with pytest.raises(InvalidPromptError, match="Delete one first"):
        prompts.save_prompt("new", "x", "y")
    prompts.save_prompt("0", "changed", "y")
    other = SavedPrompts(memory_store, "somebody")
    assert other.list_prompts() == []
    for attempt in (
        lambda: other.save_prompt("0", "theirs", "y"),
        lambda: other.delete_prompt("0"),
        lambda: other.get_prompt("0"),
    ):
        with pytest.raises(PromptNotFoundError):
            attempt()
    assert prompts.get_prompt("0").name == "changed"
