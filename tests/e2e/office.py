"""A database in which eight people have worked for weeks: accounts, usage, prompts, tags, and a long audit log."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from argon2 import PasswordHasher

from checkpoints import Database, Store, act_for
from checkpoints.people.audit_log import AuditLog
from checkpoints.rows import usage_rows
from checkpoints.rows.account_rows import Role
from checkpoints.rows.thread_rows import from_time
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.values.audit_entry import AuditKind
from extensions.people.accounts import Accounts
from tests.checkpoints.conversations import new
from tests.e2e.test_password import PASSWORD

ADMIN, MEMBER = "Ann", "bob"
HEBREW = "\u05e9\u05e8\u05d4 \u05db\u05d4\u05df"  # a name that is written from right to left
LONG_NAME = "Maximiliane Freifrau von und zu Hohenstein-Wittgenstein geborene Oberländer"
OTHERS = ("Carol Ng", "d.okonkwo@accounts.example", "Eve", LONG_NAME, HEBREW)
PRICES = '[prices]\n"openai:gpt-5.4-mini" = {input = 0.25, cached = 0.025, output = 2.0}\n'
LONG_PROMPT = "Review of a contract for the purchasing department, with every clause that differs from our own terms"
PROMPTS = {
    "Translate": "Translate {{text}} into {{language}}.",
    LONG_PROMPT: "Review {{file}} as an auditor. " * 20,
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsentwurfsbegründung": "x" * 300,
    **{f"Question {number}": "Which is better, {{first}} or {{second}}?" for number in range(12)},
}
TAGS = ("Travel", "to do", "Q3 2026", "Finance: accounts receivable, second reminder", "W" * 50)
MANY_TAGS = (*TAGS, *(f"tag {number}" for number in range(15)))
TITLE = "Where do the herons nest this year?"
LOG_HOURS = range(240, 0, -2)  # more than a portion of the log


def fill(file: Path) -> None:
    """Fill a database before its server starts."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    now = datetime.now(UTC)
    past = [now - timedelta(days=20)]
    database = Database.open_file(file)
    database.separate_owners(has_accounts=True)
    store = Store(database, now=lambda: past[-1])
    accounts, log = Accounts(store), AuditLog(store)
    stored = PasswordHasher(time_cost=1, memory_cost=64).hash(PASSWORD)
    for name in (ADMIN, MEMBER, *OTHERS):
        role = {ADMIN: Role.ADMIN, "Eve": Role.READER}.get(name, Role.MEMBER)
        accounts.invite(f"link of {name}", role, made_by="" if name == ADMIN else ADMIN, days=7)
        accounts.accept_invitation(f"link of {name}", name, stored)
        if name != MEMBER:
            _work(store, name)
    for hours in LOG_HOURS:
        past.append(now - timedelta(hours=hours))
        log.record(AuditKind.SIGN_IN, {}, person=OTHERS[hours // 2 % len(OTHERS)])
    past.append(now)
    _keep_things(store)
    database.close()


def _work(store: Store, name: str) -> None:
    """Let somebody talk, and be charged for it: the more, the longer the name."""
    counted = {"input_tokens": 91_357 * len(name) ** 2, "output_tokens": 7_919 * len(name), "total_tokens": 0}
    with act_for(name):
        store.append(store.create_thread(title="Notes").id, new("A question", "An answer. " * len(name) ** 2))
        with store.database.begin_write() as connection:
            now, answers = from_time(store.now()), 37 * len(name)
            usage_rows.add_call(connection, name, now, "openai:gpt-5.4-mini", counted, answers=answers)


def _keep_things(store: Store) -> None:
    """Give the admin prompts, and conversations with one and with many tags."""
    with act_for(ADMIN):
        for number, (name, text) in enumerate(PROMPTS.items()):
            SavedPrompts(store).save_prompt(f"{number:020x}", name, text)
        given = {"Invoices of the third quarter": TAGS[:1], "A tag of fifty letters": TAGS[-1:], TITLE: MANY_TAGS}
        for title, tags in given.items():
            thread = store.create_thread(title=title).id
            store.append(thread, new(title, "Here is a first draft."))
            store.tag_thread(thread, add=tags)
        for number in range(30):
            store.save(thread, name=f"{LONG_PROMPT} {number}", description="Before any decision")
