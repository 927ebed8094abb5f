"""120 texts that try to run or load something, as names of people: wherever the page and its sign-in show a name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from playwright.sync_api import Browser, expect

from checkpoints import Database, Store, act_for
from checkpoints.people.members import Members
from checkpoints.rows.account_rows import Role
from checkpoints.values.limits import MAX_MEMBERS_OF_THREAD
from checkpoints.values.model import ThreadRole
from extensions.people.accounts import Accounts
from tests.browser import PATIENCE_MS
from tests.checkpoints.conversations import new
from tests.components.transfers.test_html_export import HOSTILE
from tests.e2e.server import TIPS, Server
from tests.e2e.test_hostile_names import expect_nothing_active, watch_dialogs
from tests.e2e.test_password import PASSWORD, sign_in
from tests.e2e.test_sharing import make_link
from tests.e2e.waymark import Page
from tests.hostile_texts import RUN

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
MAX_CHARS = 74  # of a text in a name of 80


def write_people(file: Path) -> list[str]:
    """Let Ann and 120 others share conversations with one another, and return their names."""
    database = Database.open_file(file)
    database.separate_owners(has_accounts=True)
    store = Store(database)
    accounts, members, names = Accounts(store), Members(store), list[str]()
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    for number, text in enumerate(["Ann", *HOSTILE]):
        name = f"{text.replace(',', '')[:MAX_CHARS]} {number}" if number else text  # a name has no comma
        accounts.invite(name, Role.MEMBER if number else Role.ADMIN, made_by=names[-1] if names else "", days=1)
        names.append(accounts.accept_invitation(name, name, hashed).name)
    with act_for("Ann"):
        common = store.create_thread(title="Common").id
        store.append(common, new("Where do the herons nest?", "At the lake."))
        for name in names[1 : MAX_MEMBERS_OF_THREAD + 1]:
            members.add_member(common, name, ThreadRole.EDITOR)
    for name in names[1:]:
        with act_for(name):
            own = store.create_thread(title="Own").id
            members.add_member(own, "Ann", ThreadRole.EDITOR)
    for name in names[1 : MAX_MEMBERS_OF_THREAD + 1]:
        with act_for(name):
            store.append(common, new("And the kingfisher?", "In the bank."))
            store.save(common, name="Told")
    database.close()
    return names


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, auth="password")
    (tmp_path / "data").mkdir(mode=0o700)
    yield server
    server.stop()


def enter(browser: Browser, server: Server, name: str) -> Page:
    """Sign somebody in, in a browser of their own."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script("".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS))
    page = Page(context.new_page(), server)
    page.tab.goto(server.origin)
    sign_in(page.tab, name, "a wrong password")
    expect(page.tab.get_by_role("alert")).to_be_visible()
    assert page.tab.get_by_label("Name", exact=True).input_value() == name
    expect_nothing_active(page, "a wrong password")
    sign_in(page.tab, name, PASSWORD)
    page.composer.wait_for()
    return page


def test_120_hostile_names_of_people_run_and_load_nothing(server: Server, tmp_path: Path, browser: Browser) -> None:
    names = write_people(tmp_path / "data" / "waymark.db")
    assert len(names) > 120
    server.start()
    ann = enter(browser, server, "Ann")
    ran = watch_dialogs(ann)
    asked: list[str] = []
    ann.tab.on("request", lambda request: asked.append(request.url))
    ann.reload()
    expect(ann.tab.locator(".thread-mark").filter(has_text=RUN).first).to_be_visible()
    ann.threads.filter(has_text="Common").click()
    expect(ann.log.locator(".note-label").filter(has_text=RUN).first).to_be_attached()
    expect_nothing_active(ann, "a conversation and the list")
    ann.press_in_menu("Share…")
    expect(ann.dialog.get_by_test_id("member")).to_have_count(MAX_MEMBERS_OF_THREAD)
    ann.dialog.get_by_label("Name", exact=True).fill(HOSTILE[0])
    ann.dialog.get_by_role("button", name="Let in").click()
    expect(ann.dialog.get_by_role("alert")).to_contain_text(HOSTILE[0][:10])
    expect_nothing_active(ann, "the members")
    ann.confirm("Close")
    ann.press_in_menu("People")
    people = ann.dialog.get_by_test_id("person")
    expect(people).to_have_count(len(names))
    people.last.get_by_role("button", name="New password").click()
    expect(ann.dialog.get_by_test_id("person-link")).to_have_count(1)
    expect_nothing_active(ann, "the people")
    people.last.get_by_role("button", name="Erase").click()
    expect(ann.dialog).to_contain_text("1 conversation")
    expect_nothing_active(ann, "the erasure of a person")
    ann.dialog.get_by_label("Write the name to confirm").fill(people_name(ann))
    ann.dialog.get_by_role("button", name="Erase for good").click()
    expect(ann.dialog.locator("#people-erased")).to_contain_text("is erased.")
    expect_nothing_active(ann, "people after an erasure")
    ann.confirm("Close")
    for item, entry in (("Audit log", "audit-entry"), ("Change log", "change")):
        ann.press_in_menu(item)
        expect(ann.dialog.get_by_test_id(entry).filter(has_text=RUN).first).to_be_attached()
        expect_nothing_active(ann, item)
        ann.confirm("Close")

    other = enter(browser, server, names[1])
    ran_there = watch_dialogs(other)
    other.open_menu()
    expect(other.tab.get_by_text("Signed in as")).to_contain_text(names[1])
    expect_nothing_active(other, "the menu of a person")
    other.tab.keyboard.press("Escape")
    other.threads.filter(has_text="Own").click()
    expect(other.tab.locator("#thread-title")).to_have_text("Own")
    other.say("Hello")
    other.press_in_menu("Share…")
    other.dialog.get_by_label("Show my name").check()
    third = other.tab.context.new_page()
    third.goto(make_link(other))
    expect(third.locator("header p")).to_contain_text(names[1])
    assert third.evaluate("document.querySelectorAll('script, iframe, form, link, base, img').length") == 0
    assert ran == ran_there == []
    assert [url for url in asked if not url.startswith((server.origin, "data:", "blob:"))] == []
    for page in (ann, other):
        page.tab.context.close()


def people_name(page: Page) -> str:
    """The name in the first sentence of the open erasure."""
    sentence = page.dialog.get_by_text("This erases").first.inner_text()
    return sentence.removeprefix("This erases ").removesuffix(" and all that is theirs, for good:")
