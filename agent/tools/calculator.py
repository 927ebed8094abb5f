"""Arithmetic for the model: a small grammar with limits, because evaluating text with Python would run code.

No expression of the allowed length takes noticeable time: its length bounds its depth and its literals, the bits of each
whole number bound the work with it.
"""

import ast
import math
import operator
import re
from collections.abc import Callable

from langchain_core.tools import ToolException, tool

MAX_EXPRESSION_CHARS = 200
MAX_INTEGER_BITS = 4000

Number = int | float


class CalculatorError(ValueError, ToolException):
    """The expression has no answer here. The text tells the model how to proceed."""


_TOKEN = re.compile(
    r"(?P<grouped>[1-9]\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d*)?)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|//|[-+*/%(),])"
    r"|(?P<space>\s+)",
    re.ASCII,
)
_AS_WRITTEN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "^": "**", "\u00a0": " ", "\u202f": " "})


def evaluate_expression(expression: str) -> str:
    """Return the value as text: whole numbers exactly, others to 15 significant digits.

    Raises only CalculatorError for text that is not an expression within the limits.
    """
    try:
        value = _evaluate_node(parse_expression(expression))
    except ZeroDivisionError:
        raise CalculatorError("This divides by zero. Change the expression or explain that it has no value.") from None
    except OverflowError:
        raise CalculatorError("A result is too large. Use smaller numbers.") from None
    except CalculatorError:
        raise
    except ValueError:
        raise CalculatorError("A function has no value there, such as the root of a negative number.") from None
    return _format_number(value)


def parse_expression(expression: str) -> ast.expr:
    """Return the expression as an unchecked Python syntax tree. Raises CalculatorError."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise CalculatorError(f"At most {MAX_EXPRESSION_CHARS} characters. Split the calculation into several calls.")
    try:
        return ast.parse(_to_python(expression.translate(_AS_WRITTEN)), mode="eval").body
    except SyntaxError:
        raise CalculatorError(
            "This is not a complete expression. Write it like 12 * (3 + 4), with every sign and parenthesis; "
            "% is the remainder, so 15 % of 80 is 15 / 100 * 80."
        ) from None


def _to_python(text: str) -> str:
    """Return only known tokens, one space apart, so Python's parser receives no string, keyword or other sign."""
    tokens: list[str] = []
    # For each open parenthesis: whether it holds a function's arguments.
    calls: list[bool] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculatorError(f"{text[position]!r} is not understood. Use numbers, + - * / and parentheses.")
        position = match.end()
        if match.lastgroup == "space":
            continue
        part = _check_token(match, calls)
        if part == "(":
            calls.append(bool(tokens) and tokens[-1] in _FUNCTIONS)
        elif part == ")" and calls:
            calls.pop()
        tokens.append(part)
    return " ".join(tokens)


def _check_token(match: re.Match[str], calls: list[bool]) -> str:
    part = match.group()
    arguments = bool(calls) and calls[-1]
    if match.lastgroup == "grouped" and arguments:
        # log(1,000) may mean one number or two: a wrong guess would be a wrong answer.
        raise CalculatorError(f"{part} is unclear inside a function. Put a space after a comma between arguments.")
    if match.lastgroup == "grouped":
        return part.replace(",", "")
    if match.lastgroup == "name" and part not in _FUNCTIONS and part not in _CONSTANTS:
        known = ", ".join([*_CONSTANTS, *_FUNCTIONS])
        raise CalculatorError(f"The name {part[:20]} is unknown. Known names: {known}.")
    if part == "," and not arguments:
        raise CalculatorError("A comma is unclear here. Write 1234.5 with a point and without separators.")
    return part


def _evaluate_node(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _check_size(value)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Name(id=name):
            raise CalculatorError(f"{name} is a function. Write {name}(…) with its argument in parentheses.")
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
            return _SIGNS[type(sign)](_evaluate_node(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
            return _check_size(_OPERATIONS[type(sign)](_evaluate_node(left), _evaluate_node(right)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _call_function(name, [_evaluate_node(argument) for argument in arguments])
        case ast.Call():
            raise CalculatorError("Write every multiplication with *, as in 2 * (3 + 4).")
    raise CalculatorError("Only numbers, + - * / // % **, parentheses and the known functions are allowed.")


def _call_function(name: str, arguments: list[Number]) -> Number:
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        expected_count = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise CalculatorError(f"{name} takes {expected_count} arguments, separated by a comma and a space.")
    return _check_size(function(*arguments))


def _check_size(value: Number) -> Number:
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise OverflowError
        return value
    if not math.isfinite(value):
        raise OverflowError
    return value


def _raise_power(base: Number, exponent: Number) -> Number:
    # The result of b bits to the n-th power has more than (b - 1) * n bits, so it is refused before it is computed.
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > MAX_INTEGER_BITS:
        raise OverflowError
    result = base**exponent
    if isinstance(result, complex):
        raise CalculatorError("A negative number to a fraction is not a real number.")
    return int(result) if isinstance(result, int) else float(result)


def _compute_factorial(number: Number) -> Number:
    if number != int(number) or number < 0:
        raise CalculatorError("factorial takes a whole number from 0.")
    # The factorial of any larger number has more bits.
    if number > MAX_INTEGER_BITS:
        raise OverflowError
    return math.factorial(int(number))


def _round_number(number: Number, places: Number = 0) -> Number:
    if places != int(places):
        raise CalculatorError("round takes a whole number of places.")
    # No number has so many digits, and their power of ten would be computed.
    if -places > MAX_INTEGER_BITS:
        return 0
    return round(number, int(places)) if places else round(number)


def _format_number(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    # `or` turns -0.0 into 0.
    return format(value or 0.0, ".15g")


_CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e}
_SIGNS: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_OPERATIONS: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _raise_power,
}
# Each name has a function, and the least and the highest number of arguments.
_FUNCTIONS: dict[str, tuple[Callable[..., Number], int, int]] = {
    "sqrt": (math.sqrt, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "log": (math.log, 1, 2),
    "log10": (math.log10, 1, 1),
    "exp": (math.exp, 1, 1),
    "abs": (abs, 1, 1),
    "round": (_round_number, 1, 2),
    "min": (lambda *numbers: min(numbers), 1, MAX_EXPRESSION_CHARS),
    "max": (lambda *numbers: max(numbers), 1, MAX_EXPRESSION_CHARS),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "factorial": (_compute_factorial, 1, 1),
}
KNOWN_NAMES = (*_CONSTANTS, *_FUNCTIONS)


@tool
def calculator(expression: str) -> str:
    """Calculate one arithmetic expression exactly, such as 12 * (3 + 4) or sqrt(2) ** 3.

    Allowed: numbers, + - * / // % (remainder) ** (power), parentheses, pi, e, sqrt, sin, cos, tan (radians),
    log (natural, or log(x, base)), log10, exp, abs, round, min, max, floor, ceil, factorial. No variables or units.
    """
    return evaluate_expression(expression)
