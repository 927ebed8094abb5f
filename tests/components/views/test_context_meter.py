"""The context meter measures against the model's window."""

from agent.context.measurement import Context
from agent.context.window import Window
from components.views import context_meter


def test_the_meter_measures_against_what_a_request_may_take() -> None:
    shown = context_meter.describe_context(
        Context(600, is_exact=False, message_count=9, left_out_count=2, window=Window(1_000, 200))
    )
    assert shown == {"tokens": 600, "exact": False, "most": 800, "answer": 200, "messages": 9, "left_out": 2}
