"""The migration that counts the tokens of the last month from stored answers."""

from datetime import UTC, datetime, timedelta

from checkpoints import Database, Runs, RunState, Store
from checkpoints.people.usage import read_own_usage
from tests.checkpoints.conversations import new
from tests.checkpoints.storage.revisions import revert_schema
from tests.checkpoints.test_person_limits import MODEL, answer


def test_answers_of_before_are_counted_by_day_and_model(address: str) -> None:
    now = datetime.now(UTC)
    database = Database.open_url(address)
    for age, tokens in ((40, 1_000), (2, 7), (2, 5), (0, 3)):
        store = Store(database, now=lambda age=age: now - timedelta(days=age))  # type: ignore[misc]
        run = Runs(store).begin_run(None, new("a question")[0])
        Runs(store).commit_message(run, answer(tokens, 1))
        Runs(store).end_run(run, RunState.DONE)
    with database.begin_write() as connection:
        revert_schema(connection, "0018")
    database.close()
    database = Database.open_url(address)
    found = read_own_usage(Store(database))
    counted = [(found.today - row.day, row.model, row.answers, row.tokens.input, row.tokens.output) for row in found.rows]
    assert counted == [(2, MODEL, 2, 10, 2), (0, MODEL, 1, 2, 1)]
    database.close()
