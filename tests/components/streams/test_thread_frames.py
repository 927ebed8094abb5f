"""What one page is told of a run adds up to what is stored, from whatever moment on it listens."""

import asyncio
import uuid
from contextlib import AsyncExitStack

import pytest

from agent.events import RunFinished, RunQueued, RunStarted, TextBegun, TextDelta, TextWithdrawn, WorkEnded
from agent.run.hub import SubscriberLagged
from checkpoints import Caller, Message, RunState, ThreadNotFoundError
from components.broadcasts import Frame
from components.services import Services
from components.streams import thread_frames
from components.streams.thread_frames import MAX_PAUSE_SECONDS, choose_pause_seconds, stream_frames
from components.views import message_view
from components.views.live_text import StreamingMarkdown
from components.views.markdown import render_markdown
from components.views.message_view import MessageView
from tests.checkpoints.conversations import new
from tests.components.parts import open_services


def shown(parts: Services, path: list[Message]) -> list[MessageView]:
    return message_view.describe_messages(path, message_view.MessageExtras(to_html=parts.renderer.page()))


class Screen:
    """What a page makes of the frames: finished messages by id, and the live text below them."""

    def __init__(self) -> None:
        self.messages: dict[str, MessageView] = {}
        self.stable = self.tail = ""
        self.kinds: list[str] = []

    @property
    def live(self) -> str:
        return self.stable + self.tail

    def show(self, frame: Frame) -> None:
        self.kinds.append(frame["kind"])
        match frame["kind"]:
            case "hello" if frame["run"]:
                self.stable, self.tail = frame["run"]["stable"], frame["run"]["tail"]
            case "delta":
                self.stable, self.tail = self.stable + frame["stable"], frame["tail"]
            case "start" | "message":
                self.stable = self.tail = ""
                if frame["message"]:
                    self.messages[frame["message"]["id"]] = frame["message"]

    async def watch(self, parts: Services, thread_id: str, told: asyncio.Event, *, is_expected: bool = False) -> Frame:
        """Show all until the run ends; `told` is set once the first frame is there."""
        told_frames = stream_frames(parts, thread_id, is_expected=is_expected)
        async for frame in told_frames:
            self.show(frame)
            told.set()
            if frame["kind"] == "end":
                await told_frames.aclose()  # type: ignore[attr-defined]
                return frame
        raise AssertionError("the frames never end by themselves")


@pytest.mark.parametrize("text", ["hello", "What is 12 * (3 + 4)? And 7*8?", "show me some code", "a long answer, please"])
def test_the_frames_of_a_run_add_up_to_what_is_stored(text: str) -> None:
    async def story() -> None:
        async with open_services() as parts:
            thread_id, screen, told = parts.store.create_thread().id, Screen(), asyncio.Event()
            watching = asyncio.create_task(screen.watch(parts, thread_id, told))
            await told.wait()
            await parts.runner.send(thread_id, text, caller=Caller())
            end = await asyncio.wait_for(watching, 60)
            stored = shown(parts, parts.store.list_messages(thread_id))
            assert list(screen.messages.values()) == stored
            assert (end["version"], end["state"], screen.live) == (parts.store.get_thread(thread_id).version, "done", "")

    asyncio.run(story())


def test_a_page_that_comes_in_the_middle_has_the_text_from_its_beginning() -> None:
    async def story() -> None:
        async with open_services(seconds_per_token=0.002) as parts:
            thread_id = parts.store.create_thread().id
            first, second, told = Screen(), Screen(), asyncio.Event()
            await parts.runner.send(thread_id, "a long answer, please", caller=Caller())
            early = asyncio.create_task(first.watch(parts, thread_id, told))
            while len(first.live) < 600:  # noqa: ASYNC110  (the frames are told by time, not by an event)
                await asyncio.sleep(0.005)
            late_told = asyncio.Event()
            late = asyncio.create_task(second.watch(parts, thread_id, late_told))
            await late_told.wait()
            assert second.kinds[0] == "hello"
            assert len(second.live) >= 600
            assert second.stable.startswith(first.stable[:300])
            await asyncio.wait_for(asyncio.gather(early, late), 60)
            assert list(second.messages.values()) == shown(parts, parts.store.list_messages(thread_id)[1:])

    asyncio.run(story())


def test_the_text_of_each_subgraph_stands_below_its_name_also_for_a_page_that_comes_later() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, screens = parts.store.create_thread().id, [Screen(), Screen()]
            run = parts.runs.begin_run(thread_id, new("a question")[0])
            parts.hub.publish(thread_id, RunStarted(run.id, 1, None))
            first = stream_frames(parts, thread_id)
            screens[0].show(await anext(first))
            for event in ("<scout>", "One *word*", "<scout>", "```\ntwo", "", "three"):
                is_text = event.isalpha() or " " in event or "`" in event
                parts.hub.publish(thread_id, TextDelta(event) if is_text else TextBegun(event))
            while "three" not in screens[0].live:
                screens[0].show(await anext(first))
            second = stream_frames(parts, thread_id)
            screens[1].show(await anext(second))
            for screen in screens:
                assert screen.live.startswith('<p class="live-agent">&lt;scout&gt;</p><p>One <em>word</em></p>')
                assert screen.live.count("scout") == 1
                assert screen.live.strip().endswith("<hr><p>three</p>")
            for frames in (first, second):
                await frames.aclose()

    asyncio.run(story())


def test_a_page_that_joins_others_is_told_of_a_run_whose_start_has_not_arrived() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id = parts.store.create_thread().id
            pages = [stream_frames(parts, thread_id)]
            assert (await anext(pages[0]))["run"] is None
            run = parts.runs.begin_run(thread_id, new("a question")[0])
            pages.append(stream_frames(parts, thread_id))
            assert (await anext(pages[1]))["run"] == {"id": run.id, "stable": "", "tail": "", "reasoning": ""}
            parts.hub.deliver(thread_id, RunStarted(run.id, 1, None))
            parts.runs.end_run(run, RunState.DONE)
            parts.hub.deliver(thread_id, RunFinished(run.id, RunState.DONE, 1))
            for page in pages:
                assert [(await anext(page))["kind"] for _ in range(2)] == ["start", "end"]
            pages.append(stream_frames(parts, thread_id))
            assert (await anext(pages[2]))["run"] is None
            for page in pages:
                await page.aclose()

    asyncio.run(story())


def test_the_end_of_a_run_that_arrives_after_the_next_one_has_begun_is_not_taken_for_that_ones_end() -> None:
    """A page reads of the next run in the database, while the process that drove the former one has not told its end."""

    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id = parts.store.create_thread().id
            version, run = parts.store.get_thread(thread_id).version, parts.runs.begin_run(thread_id, None)
            frames = stream_frames(parts, thread_id)
            assert (await anext(frames))["run"]["id"] == run.id
            for event in (
                RunFinished("former", RunState.STOPPED, version),
                RunStarted(run.id, version, None),
                RunFinished("former", RunState.STOPPED, version),
                RunFinished(run.id, RunState.DONE, version),
            ):
                parts.hub.publish(thread_id, event)
            told = [await anext(frames) for _ in range(2)]
            assert [(each["kind"], each["run"], each.get("state")) for each in told] == [
                ("start", run.id, None),
                ("end", run.id, "done"),
            ]
            await frames.aclose()  # type: ignore[attr-defined]

    asyncio.run(story())


def test_the_live_text_of_a_stopped_answer_is_what_was_kept() -> None:
    async def story() -> None:
        async with open_services(seconds_per_token=0.003) as parts:
            thread_id, screen, told = parts.store.create_thread().id, Screen(), asyncio.Event()
            watching = asyncio.create_task(screen.watch(parts, thread_id, told))
            await told.wait()
            await parts.runner.send(thread_id, "a long answer, please", caller=Caller())
            while "delta" not in screen.kinds:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.005)
            await parts.runner.stop(thread_id)
            end = await asyncio.wait_for(watching, 60)
            kept = parts.store.list_messages(thread_id)[-1]
            assert (end["state"], kept.status.value) == ("stopped", "partial")
            assert _plain(screen.live) == _plain(render_markdown(str(kept.langchain.text)))

    asyncio.run(story())


def _plain(html: str) -> str:
    """Without what the end of a text decides: a list may turn out loose, and white space means nothing."""
    return "".join(html.replace("<p>", "").replace("</p>", "").split())


def test_text_that_turns_out_to_be_reasoning_starts_the_page_over() -> None:
    async def story() -> None:
        async with open_services() as parts:
            thread_id, screen = parts.store.create_thread().id, Screen()
            frames = stream_frames(parts, thread_id)
            screen.show(await anext(frames))
            for event in (RunStarted("run", 1, None), TextDelta("Hm."), TextWithdrawn("Hm."), TextDelta("Hello")):
                parts.hub.publish(thread_id, event)
            told = [await anext(frames) for _ in range(4)]
            for frame in told:
                screen.show(frame)
            assert (told[2]["kind"], told[2]["run"]["reasoning"]) == ("hello", "Hm.")
            assert _plain(screen.live) == "Hello"
            late = await anext(stream_frames(parts, thread_id))
            assert (_plain(late["run"]["tail"]), late["run"]["reasoning"]) == ("Hello", "Hm.")

    asyncio.run(story())


def test_a_page_that_leaves_is_forgotten_and_the_run_goes_on() -> None:
    async def story() -> None:
        async with open_services(seconds_per_token=0.001) as parts:
            thread_id = parts.store.create_thread().id
            await parts.runner.send(thread_id, "hello", caller=Caller())
            telling = stream_frames(parts, thread_id)
            await anext(telling)
            await telling.aclose()  # type: ignore[attr-defined]
            assert dict(parts.hub._subscribers) == {}
            screen = Screen()
            await asyncio.wait_for(screen.watch(parts, thread_id, asyncio.Event()), 60)
            assert parts.store.count_messages(thread_id) == 2

    asyncio.run(story())


def test_a_change_from_elsewhere_is_told() -> None:
    async def story() -> None:
        async with open_services() as parts:
            thread_id = parts.store.create_thread().id
            telling = stream_frames(parts, thread_id)
            assert (await anext(telling))["kind"] == "hello"
            receipt = await parts.apply_change(parts.store.rename_thread, thread_id, "Another title")
            assert await asyncio.wait_for(anext(telling), 60) == {"kind": "head", "version": receipt.version, "turn": None}
            await telling.aclose()  # type: ignore[attr-defined]

    asyncio.run(story())


def test_work_that_has_ended_before_its_end_is_on_disk_is_shown_so_also_to_a_page_that_comes_later() -> None:
    async def story() -> None:
        async with open_services() as parts:
            thread_id = parts.store.create_thread().id
            parts.hub.publish(thread_id, RunStarted("r", 1, None))
            telling = stream_frames(parts, thread_id)
            assert (await anext(telling))["run"]["id"] == "r"
            parts.hub.publish(thread_id, WorkEnded("r", RunState.STOPPED, "Locked."))
            rest = {"kind": "rest", "run": "r", "state": "stopped", "error": "Locked."}
            assert await asyncio.wait_for(anext(telling), 60) == rest
            later = stream_frames(parts, thread_id)
            assert (await anext(later))["run"]["rest"] == rest
            for each in (telling, later):
                await each.aclose()  # type: ignore[attr-defined]

    asyncio.run(story())


def test_an_answer_is_formatted_once_for_all_pages_that_follow_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, take = [], StreamingMarkdown.take

    async def count_and_take(text: StreamingMarkdown) -> tuple[str, str]:
        looks.append(text)
        return await take(text)

    monkeypatch.setattr(StreamingMarkdown, "take", count_and_take)

    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts, AsyncExitStack() as opened:
            thread_id = parts.store.create_thread().id
            pages = [stream_frames(parts, thread_id) for _ in range(25)]
            for page in pages:
                opened.push_async_callback(page.aclose)
                await anext(page)
            for number in range(1, 4):
                parts.hub.publish(thread_id, TextDelta(f"word {number} "))
                frames = [await anext(page) for page in pages]
                assert frames == [frames[0]] * 25
                assert len(looks) == number

    asyncio.run(story())


def test_a_text_that_is_dear_to_look_at_is_looked_at_less_often() -> None:
    assert [choose_pause_seconds(1, cost) for cost in (0.0, 0.001, 0.05, 9.0)] == [0.04, 0.04, 0.5, MAX_PAUSE_SECONDS]


@pytest.mark.parametrize("is_late", [False, True], ids=["before it begins", "while it is answered"])
def test_a_page_follows_a_conversation_from_the_request_that_begins_it(is_late: bool) -> None:
    async def story() -> None:
        async with open_services(seconds_per_token=0.01) as parts:
            request_id, screen, told = str(uuid.uuid4()), Screen(), asyncio.Event()
            if is_late:
                await parts.runner.send(None, "hello", caller=Caller(request_id=request_id))
            watching = asyncio.create_task(screen.watch(parts, request_id, told, is_expected=True))
            await told.wait()
            if not is_late:
                run = await parts.runner.send(None, "hello", caller=Caller(request_id=request_id))
                assert run.thread_id == request_id
            await asyncio.wait_for(watching, 60)
            assert list(screen.messages.values()) == shown(parts, parts.store.list_messages(request_id))

    asyncio.run(story())


def test_a_conversation_that_does_not_begin_is_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_frames, "MAX_EXPECTED_SECONDS", 0.01)

    async def story() -> None:
        async with open_services() as parts:
            frames = stream_frames(parts, str(uuid.uuid4()), is_expected=True)
            assert await anext(frames) == {"kind": "hello", "version": 0, "run": None}
            with pytest.raises(TimeoutError):
                await anext(frames)
            with pytest.raises(ThreadNotFoundError):
                await anext(stream_frames(parts, str(uuid.uuid4())))

    asyncio.run(story())


def test_a_page_learns_that_updates_of_other_servers_are_delayed() -> None:
    async def story() -> None:
        async with open_services() as parts:
            frames = stream_frames(parts, parts.store.create_thread().id)
            assert "late" not in await anext(frames)
            parts.hub.report_delay()
            assert await anext(frames) == {"kind": "late"}
            late = stream_frames(parts, parts.store.create_thread().id)
            assert (await anext(late))["late"] is True
            parts.hub.refresh_followers()
            with pytest.raises(SubscriberLagged):
                await anext(frames)
            await late.aclose()

    asyncio.run(story())


def test_the_place_of_a_run_that_waits_is_told_when_it_changes_and_to_a_page_that_opens() -> None:
    async def story() -> None:
        async with open_services() as parts:
            thread_id = parts.store.create_thread().id
            frames = stream_frames(parts, thread_id)
            assert "before" not in await anext(frames)
            for before in (2, 2, 1):
                parts.hub.deliver(thread_id, RunQueued("r", before))
            assert [await anext(frames) for _ in range(2)] == [{"kind": "queued", "before": before} for before in (2, 1)]
            late = stream_frames(parts, thread_id)
            assert (await anext(late))["before"] == 1
            parts.hub.deliver(thread_id, RunStarted("r", 1, None))
            assert (await anext(frames))["kind"] == "start"
            later = stream_frames(parts, thread_id)
            assert "before" not in await anext(later)
            for each in (frames, late, later):
                await each.aclose()

    asyncio.run(story())
