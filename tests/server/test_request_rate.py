"""A session sends requests as fast as any person, and not without end."""

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


def test_sessions_of_long_ago_are_forgotten_and_busy_ones_are_not() -> None:
    clock = Clock()
    rate = RequestRate(clock)
    for number in range(MAX_BUCKETS):
        rate.admit(str(number))
    clock.now += 1
    count_admitted(rate, "busy")
    assert set(rate._buckets) == {"busy"}
    assert not rate.admit("busy")
    assert rate._count_requests(rate._buckets["busy"], clock.now) < 1
