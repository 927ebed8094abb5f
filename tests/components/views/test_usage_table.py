"""The usage of people: sums of today, 7 and 30 days, costs where a price is known, and a plot."""

import pytest

from agent.context.prices import ModelPrice
from checkpoints.people.usage import PeopleUsage
from checkpoints.rows.usage_rows import UsageRow
from checkpoints.values.token_counts import TokenCounts
from components.replies import to_plain
from components.views.figures import format_dollars, format_number
from components.views.usage_table import MAX_PLOTTED_PARTS, build_usage, plot_usage, sum_usage

TODAY = 20_000
PRICES = {"a": ModelPrice(input_usd=1.0, output_usd=2.0)}
ROWS = [
    UsageRow("ann", TODAY - 29, "a", 1, TokenCounts(input=1_000_000)),
    UsageRow("ann", TODAY - 6, "unknown", 2, TokenCounts(input=10)),
    UsageRow("ann", TODAY, "a", 3, TokenCounts(input=1_000_000, output=500_000)),
]


def test_periods_have_their_days_and_costs_are_those_of_known_prices() -> None:
    [ann] = sum_usage(PeopleUsage(TODAY, ROWS, {"ann": 4}, {"ann": 5}), PRICES)
    found = [(days, each.answers, each.priced, each.input, each.cost) for days, each in ann.periods.items()]
    assert found == [(1, 3, 3, 1_000_000, 2.0), (7, 5, 3, 1_000_010, 2.0), (30, 6, 4, 2_000_010, 3.0)]
    assert (ann.conversations, ann.storage) == (4, 5)


def test_who_has_used_most_is_first_and_who_used_nothing_is_there() -> None:
    rows = [UsageRow("bob", TODAY, "a", 1, TokenCounts(output=1)), UsageRow("cy", TODAY, "a", 1, TokenCounts(output=2))]
    found = sum_usage(PeopleUsage(TODAY, rows, {"ann": 1}, None), PRICES)
    assert [(each.name, each.storage) for each in found] == [("cy", None), ("bob", None), ("ann", None)]


def test_an_admin_sees_people_and_others_see_periods() -> None:
    people = sum_usage(PeopleUsage(TODAY, ROWS, {"ann": 4}, {"ann": 5}), PRICES)
    of_admin, own = (str(to_plain(build_usage(people, days=days))) for days in (30, None))
    assert [text.count("person-usage") for text in (of_admin, own)] == [1, 0]
    assert "Storage: 5 B" in own
    assert "$3.00" in own
    assert "Nothing is used yet." in str(to_plain(build_usage([], days=30)))


def test_a_plot_has_a_bar_for_each_day_and_joins_what_is_small() -> None:
    found = PeopleUsage(TODAY, ROWS, {}, None)
    [known, unknown] = plot_usage(found, PRICES, by="model", measure="tokens")["data"]
    assert (known["name"], known["y"][0], known["y"][-1], sum(unknown["y"])) == ("a", 1_000_000, 1_500_000, 10)
    assert known["x"][-1] == "4 Oct"
    [costs, _] = plot_usage(found, PRICES, by="model", measure="cost")["data"]
    assert sum(costs["y"]) == 3.0
    many = [UsageRow(f"p{number}", TODAY, "a", 1, TokenCounts(input=100 - number)) for number in range(20)]
    bars = plot_usage(PeopleUsage(TODAY, many, {}, None), PRICES, by="person", measure="tokens")["data"]
    assert [each["name"] for each in bars] == [f"p{number}" for number in range(MAX_PLOTTED_PARTS)] + ["Others"]
    assert sum(sum(each["y"]) for each in bars) == sum(100 - number for number in range(20))


@pytest.mark.parametrize(
    ("number", "text"), [(12, "12"), (3_440, "3.4k"), (999_499, "999k"), (999_500, "1.0M"), (61_000_000, "61M")]
)
def test_numbers_are_short(number: int, text: str) -> None:
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("dollars", "text"), [(1.2, "$1.20"), (0.034, "$0.034"), (0.0012, "$0.0012"), (0.00001, "under $0.0001"), (0, "$0.00")]
)
def test_amounts_have_the_digits_that_matter(dollars: float, text: str) -> None:
    assert format_dollars(dollars) == text
