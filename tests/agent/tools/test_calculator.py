"""The calculator agrees with Python where both have an answer, and has an explanation where there is none."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.tools import ToolException

from agent.tools.calculator import CalculatorError, _raise_power, calculator, evaluate_expression

NUMBERS = st.integers(0, 9999).map(str) | st.decimals("0", "999", places=2).map(str)


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(parts, st.sampled_from(["+", "-", "*", "/", "//", "%"]), parts).map(" ".join)
    return st.one_of(binary.map("({})".format), parts.map("-{}".format), parts.map("abs({})".format))


@settings(deadline=None)
@given(st.recursive(NUMBERS, _joined, max_leaves=6))
def test_it_agrees_with_python(expression: str) -> None:
    try:
        expected = eval(expression)
    except ZeroDivisionError:
        with pytest.raises(CalculatorError, match="zero"):
            evaluate_expression(expression)
        return
    if isinstance(expected, int):
        assert evaluate_expression(expression) == str(expected)
    else:
        assert math.isclose(float(evaluate_expression(expression)), expected, rel_tol=1e-14, abs_tol=1e-14)


@settings(deadline=None)  # the bound below counts computing time, which a busy machine does not stretch
@given(st.text() | st.text(alphabet="0123456789.+-*/%^(),eE spqrtfacoilmxn", max_size=200))
def test_any_text_ends_quickly_in_a_value_or_an_explanation(text: str) -> None:
    start = time.thread_time()
    try:
        answer = evaluate_expression(text)
    except CalculatorError as error:
        answer = str(error)
    assert answer
    assert time.thread_time() - start < 0.5


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12 * (3 + 4)", "84"),
        ("2^10", "1024"),
        ("-2**2", "-4"),
        ("10 × 3 ÷ 4 − 1", "6.5"),
        ("0.1 + 0.2", "0.3"),
        ("10**30", "1" + "0" * 30),
        ("1,234,567.5 * 2", "2469135"),
        ("max((1,234), 5)", "1234"),
        ("log(8, 2) + sqrt(16)", "7"),
        ("round(2 * pi, 2)", "6.28"),
        ("factorial(20)", "2432902008176640000"),
        ("round(5, -1000000000)", "0"),
        ("round(1.5, 1000000000)", "1.5"),
        ("1" * 200, "1" * 200),
        ("(" * 99 + "1" + ")" * 99, "1"),
        ("-" * 199 + "1", "-1"),
        ("(-1)**10**30", "1"),
        ("+".join("1" * 100), "100"),
    ],
)
def test_what_people_write_is_understood(expression: str, value: str) -> None:
    assert evaluate_expression(expression) == value


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("1" * 201, "Split"),
        ("9**9**9", "too large"),
        ("2**0.5**-9999", "too large"),
        ("9" * 90 + "".join(f"*{'9' * 50}" for _ in range(2)) + "**99", "too large"),
        ("9**1000 * 9**1000", "too large"),
        ("(10**300)**1000", "too large"),
        ("factorial(540)", "too large"),
        ("factorial(10**9)", "too large"),
        ("factorial(-1)", "whole number"),
        ("round(5, 0.5)", "whole number"),
        ("1e308 * 10", "too large"),
        ("factorial(400) / 0.1", "too large"),
        ("1 / 0", "zero"),
        ("sqrt(-1)", "no value"),
        ("(-8) ** 0.5", "not a real number"),
        ("1,5 + 1", "comma"),
        ("12,34", "comma"),
        ("1,234,56", "comma"),
        ("max(100,200)", "space after a comma"),
        ("2(3)", "multiplication"),
        ("sqrt", "parentheses"),
        ("sqrt(1, 2)", "takes 1"),
        ("15 % of 80", "unknown"),
        ("3 +", "not a complete"),
        ("open('/etc/passwd')", "unknown"),
        ("().__class__", "not understood"),
        ("max(*(1, 2))", "comma"),
        ("'a' * 3", "not understood"),
        ("1j", "unknown"),
        ("0xff", "unknown"),
    ],
)
def test_what_it_refuses_it_explains(expression: str, advice: str) -> None:
    with pytest.raises(CalculatorError, match=advice):
        evaluate_expression(expression)


def test_a_power_that_is_too_large_is_refused_before_it_is_computed() -> None:
    class NeverRaised(int):
        def __pow__(self, exponent: int, modulo: None = None) -> int:
            raise AssertionError("computed")

    with pytest.raises(OverflowError):
        _raise_power(NeverRaised(2**3999), 1000)


def test_the_tool_takes_an_expression_and_fails_as_a_tool_does() -> None:
    assert calculator.invoke({"expression": "6 * 7"}) == "42"
    with pytest.raises(ToolException, match="zero"):
        calculator.invoke({"expression": "6 / 0"})
