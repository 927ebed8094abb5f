"""A conversation as rich as the page can show, for its pictures: days old, with branches, a move and a summary."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import expect

from checkpoints import Database, Runs, RunState, Store
from tests.checkpoints.conversations import new
from tests.e2e.waymark import Page
from tests.fakes.openai import Call, FakeOpenAI, Say

TITLE = "Quarterly cost model"
KEYS = {"anthropic_api_key": "sk-ant-not-a-real-key"}
PRICES = '[prices]\n"openai:gpt-5.4-mini" = {input = 0.25, cached = 0.025, output = 2.0}\n'
MODELS = (
    *(
        "openai:gpt-5.4",
        "openai:gpt-5.4-nano",
        "openai:o5-mini",
        "anthropic:claude-sonnet-4-6",
        "anthropic:claude-haiku-4-5",
    ),
    *("demo", "demo:brief"),
)
OTHERS = (
    ("Billing service design", 1),
    ("Regex for ISO dates", 4),
    ("Sourdough with rye", 26),
    ("SQL window functions", 29),
    ("Build fails on Windows", 31),
    ("Trip to Oslo", 33),
)
INVOICES = (
    "Which invoices do we have for the first quarter?",
    "Three folders: **January** with 41 invoices, **February** with 38 and **March** with 52. Two of March have no date.",
    "Are any months missing?",
    "No. All three months are complete, and the two undated invoices belong to March by their numbers.",
)
RATES = (
    "Convert all of it with daily rates",
    "With the reference rates of each day, the quarter comes to **€ 36,118.40**. Daily rates differ by at most 1.3 %.",
    "Which source are the rates from?",
    "From the reference rates of the European Central Bank, published each working day at about 16:00.",
)
MONTHLY = (
    "Take one rate a month instead",
    "With one rate a month it is **€ 36,204.10**, which is 0.2 % more than with daily rates.",
)
FORMULA = (
    "How do we tell whether costs grow?",
    "Fit a straight line through the monthly totals. Its slope is the growth in US dollars a month.",
    "Ordinary least squares?",
    "Yes: three points carry no more than a straight line, and ordinary least squares is what an auditor can repeat.",
)
DETOUR = Say(
    "I tried a seasonal model as well. It needs at least two years of months, so that its error is larger than the slope "
    "itself. None of that helps with three points, and I would not show it to anybody. " * 4
)
BACK = Call(
    "goto",
    {"position": "msg_10", "message": "A seasonal model needs two years of data. We stay with the straight line."},
    text="The seasonal model leads nowhere. Better to go back to the formula that we agreed on.",
)
SUMMARY = Say(
    "- Q1 has **131 invoices**: 41 in January, 38 in February, 52 in March.\n"
    "- Totals: 12,480.00, 11,905.50 and 15,221.75 US dollars.\n- Growth is the slope of an ordinary least squares line."
)
THOUGHT = (
    "The user wants a line through three monthly totals. First the sum, with the calculator, so that the figures agree. "
    "Then the slope: with x = 1, 2, 3 the mean is 2, and the slope is the half of the last total less the first."
)
SUM = Call("calculator", {"expression": "12480 + 11905.5 + 15221.75"}, thought=THOUGHT)
SLOPE = Say(
    "The total is **39,607.25 USD**. The slope of the fitted line is\n\n"
    r"$$\beta = \frac{\sum (x_i - \bar{x})(y_i - \bar{y})}{\sum (x_i - \bar{x})^2} = 1{,}370.9$$"
    "\n\n| Month | Invoices | Total, USD | Change |\n|---|--:|--:|--:|\n| January | 41 | 12,480.00 | – |\n"
    "| February | 38 | 11,905.50 | −4.6 % |\n| March | 52 | 15,221.75 | +27.9 % |\n"
)
CODE = Say(
    "As a function, for any number of months:\n\n```python\ndef slope(totals: list[float]) -> float:\n"
    '    """Least squares over months 1, 2, 3 …"""\n    n = len(totals)\n    mean_x, mean_y = (n + 1) / 2, sum(totals) / n\n'
    "    rise = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(totals, 1))\n"
    "    return rise / sum((x - mean_x) ** 2 for x in range(1, n + 1))\n```\n\nIt returns `1370.875` for our three months."
)
YEN = (
    Say("The daily rates change the March figure by 2.1 %: it becomes **¥ 2,283,263**, and the slope ¥ 205,631 a month."),
    Say("By hand: 15,221.75 × 150.0 = 2,283,262.5, rounded to ¥ 2,283,263."),
)


def write_past(file: Path) -> str:
    """Store what was said on the days before, with other conversations; return the conversation's id."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    today, past = datetime.now(UTC), [datetime.now(UTC)]
    database = Database.open_file(file)
    store = Store(database, now=lambda: past[-1])
    runs = Runs(store)
    for title, hours in OTHERS:
        past.append(today - timedelta(hours=hours))
        store.append(store.create_thread(title=title).id, new(title, "Here is a first draft."))
    past.append(today - timedelta(days=3))
    thread_id = store.create_thread(title=TITLE).id
    store.append(thread_id, new(*INVOICES))
    store.save(thread_id, name="Invoices collected", description="All 131, with their dates.", tokens=602)
    main = store.get_thread(thread_id).branch_id
    last = store.list_messages(thread_id)[-1].id
    past.append(today - timedelta(days=2))
    store.fork(thread_id, last, name="ecb-rates")
    store.append(thread_id, new(*RATES[:2]))
    at_rates = store.list_messages(thread_id)[-1].id
    store.save(thread_id, name="Daily rates work", tokens=981)
    store.append(thread_id, new(*RATES[2:]))
    store.fork(thread_id, at_rates, name="monthly-rates")
    store.append(thread_id, new(*MONTHLY))
    past.append(today - timedelta(hours=3))
    store.switch(thread_id, main)
    store.append(thread_id, new(*FORMULA[:2]))
    run = runs.begin_run(thread_id, new(FORMULA[2])[0])
    runs.end_run(run, RunState.DONE, last_messages=new(*FORMULA[2:])[1:])
    runs.save_milestone(run, store.list_messages(thread_id)[-1].id, "Formula agreed", "A straight line, by least squares.")
    store.pin_thread(thread_id, pinned=True)
    store.tag_thread(thread_id, add=["Finance"])
    while store.index_portion():
        pass
    database.close()
    return thread_id


def talk_on(page: Page, fake: FakeOpenAI) -> None:
    """Go on from the past: a detour from which the agent goes back, a summary, the sum, and two messages too many."""
    fake.script(DETOUR, BACK, Say("The straight line it is, then."))
    page.say("Try a seasonal model as well")
    page.send("Is that better?")
    page.approval.get_by_role("button", name="Allow", exact=True).click()
    expect(page.log).to_contain_text("The straight line it is, then.")
    page.wait_for_answer()
    fake.script(SUMMARY)
    page.composer.fill("/compact")
    page.composer.press("Enter")
    page.confirm("Summarise")
    expect(page.notice).to_contain_text("summarised")
    fake.manner = "deepseek"
    fake.script(SUM, SLOPE)
    page.say("Fit a line to the March invoices, and tell me the slope.")
    fake.manner = "openai"
    page.save("Cost model stands", "With the formula and the March invoices, before the currencies.")
    fake.script(*YEN)
    page.say("Now do the same in yen, with daily rates.")
    page.say("And by hand?")
    page.save("Yen, by hand")
