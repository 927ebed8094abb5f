"""The usage of people: sums of today, 7 and 30 days, and costs where a price is known."""

from agent.context.prices import ModelPrice
from checkpoints.people.usage import PeopleUsage
from checkpoints.rows.usage_rows import UsageRow
from checkpoints.values.token_counts import TokenCounts
from components.views.usage_table import describe_usage

TODAY = 20_000
PRICES = {"a": ModelPrice(input_usd=1.0, output_usd=2.0)}


def test_periods_have_their_days_and_costs_are_those_of_known_prices() -> None:
    rows = [
        UsageRow("ann", TODAY - 29, "a", 1, TokenCounts(input=1_000_000)),
        UsageRow("ann", TODAY - 6, "unknown", 2, TokenCounts(input=10)),
        UsageRow("ann", TODAY, "a", 3, TokenCounts(input=1_000_000, output=500_000)),
    ]
    [ann] = describe_usage(PeopleUsage(TODAY, rows, {"ann": 4}, {"ann": 5}), PRICES)
    found = [(each["days"], each["answers"], each["priced"], each["input"], each["cost"]) for each in ann["periods"]]
    assert found == [(1, 3, 3, 1_000_000, 2.0), (7, 5, 3, 1_000_010, 2.0), (30, 6, 4, 2_000_010, 3.0)]
    assert (ann["conversations"], ann["storage"]) == (4, 5)


def test_who_has_used_most_is_first_and_who_used_nothing_is_there() -> None:
    rows = [UsageRow("bob", TODAY, "a", 1, TokenCounts(output=1)), UsageRow("cy", TODAY, "a", 1, TokenCounts(output=2))]
    found = describe_usage(PeopleUsage(TODAY, rows, {"ann": 1}, None), PRICES)
    assert [(each["name"], each["storage"]) for each in found] == [("cy", None), ("bob", None), ("ann", None)]
