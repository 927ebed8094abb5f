"""Estimates of what was not measured."""

import pytest

from benchmarks.growth import extend_line, extend_sum


def test_a_cost_that_grows_in_a_straight_line_goes_on_in_it() -> None:
    assert extend_line({40: 7.0, 400: 61.0}, 1_000) == pytest.approx(151.0)
    assert extend_line({1: 99.0, 40: 7.0, 400: 7.0}, 1_000) == pytest.approx(7.0)


def test_a_cost_that_chance_made_smaller_is_not_taken_for_one_that_shrinks() -> None:
    assert extend_line({40: 9.0, 400: 8.0}, 1_000) == 8.0


def test_what_turns_add_up_to_grows_with_the_square_of_their_number() -> None:
    totals = {turns: 5_000.0 * turns + 3_000.0 * turns**2 for turns in (40, 400, 1_000)}
    assert extend_sum({turns: totals[turns] for turns in (40, 400)}, 1_000) == pytest.approx(totals[1_000])
    assert extend_sum({40: 80.0, 400: 800.0}, 1_000) == pytest.approx(2_000.0)
