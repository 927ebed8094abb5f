"""A session sends requests as fast as any person, and not without end."""

import sys

from server.request_rate import MAX_BUCKETS, MAX_BURST_REQUESTS, MAX_REQUESTS_PER_SECOND, RequestRate


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def count_admitted(rate: RequestRate, session: str, asked: int = 3 * MAX_BURST_REQUESTS) -> int:
    return sum(rate.admit(session) for _ in range(asked))


def test_a_burst_is_admitted_and_then_so_many_a_second() -> None:
    clock = Clock()
    rate = RequestRate(clock)
    assert count_admitted(rate, "a") == MAX_BURST_REQUESTS
    clock.now += 2
    assert count_admitted(rate, "a") == 2 * MAX_REQUESTS_PER_SECOND
    clock.now += 3600
    assert count_admitted(rate, "a") == MAX_BURST_REQUESTS


def test_a_session_that_sends_too_many_does_not_stop_another() -> None:
    rate = RequestRate(Clock())
    assert [count_admitted(rate, session) for session in "ab"] == [MAX_BURST_REQUESTS] * 2


def test_the_work_of_a_request_does_not_grow_with_the_addresses() -> None:
    rate = RequestRate(Clock())
    for number in range(3_000):
        rate.admit(str(number))
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        rate.admit("another")
    finally:
        sys.setprofile(None)
    assert len(calls) < 10


def test_the_oldest_buckets_are_dropped_and_those_in_use_are_not() -> None:
    rate = RequestRate(Clock())
    count_admitted(rate, "busy")
    for number in range(MAX_BUCKETS + 10):
        rate.admit(str(number))
        assert not rate.admit("busy")
    assert len(rate._buckets) == MAX_BUCKETS
    assert "0" not in rate._buckets
