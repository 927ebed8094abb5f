"""An answer while it is written: its formatted text, and the reasoning before it."""

from html import escape

from agent.events import TextBegun, TextDelta
from agent.run.live_runs import LiveCandidate, LiveRun
from components.broadcasts import Frame
from components.views.directions import write_direction
from components.views.live_text import StreamingMarkdown
from components.workers.rendering import Renderer

NO_TEXT: Frame = {"stable": "", "tail": "", "reasoning": ""}


class LiveAnswer:
    """The formatted text of an answer in progress. Only `tail` may still change."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self.clear_text()

    @property
    def cost_seconds(self) -> float:
        return self._text.cost_seconds

    @property
    def tail(self) -> str:
        return self._tail

    def clear_text(self) -> None:
        self._text = StreamingMarkdown(self._renderer.look)
        # This subgraph writes the text.
        self._agent = ""
        self._stable: list[str] = []
        self._reasoning: list[str] = []
        self._tail = ""

    async def begin_in_middle(self, live: LiveRun | LiveCandidate) -> None:
        self._reasoning = [live.reasoning]
        place = 0
        for start, agent in live.begun if isinstance(live, LiveRun) else ():
            await self.add_text(live.text[place:start])
            await self.begin_text(agent)
            place = start
        await self.add_text(live.text[place:])

    async def add_event(self, event: TextBegun | TextDelta) -> str:
        """Add text, or begin another message's text. Return the HTML of the finished blocks."""
        return await (self.begin_text(event.agent) if isinstance(event, TextBegun) else self.add_text(event.text))

    async def begin_text(self, agent: str) -> str:
        """Begin another message's text. Return the HTML of the previous text's rest, and of the agent's name."""
        # The second look shows a text to its end.
        finished = [(await self._text.take())[0] for _ in range(2)]
        _, tail = await self._text.take()
        name = f'<p class="live-agent"{write_direction(agent)}>{escape(agent)}</p>' if agent else "<hr>"
        name = "" if agent == self._agent else name
        self._text, self._agent, self._tail = StreamingMarkdown(self._renderer.look), agent, ""
        self._stable.append("".join([*finished, tail, name]))
        return self._stable[-1]

    async def add_text(self, text: str) -> str:
        """Add text, and return the HTML of the blocks finished by it."""
        self._text.feed(text)
        stable, self._tail = await self._text.take()
        self._stable.append(stable)
        return stable

    def add_reasoning(self, text: str) -> None:
        self._reasoning.append(text)

    def withdraw_text(self, reasoning: str) -> None:
        """Start over, because all text was reasoning."""
        self.clear_text()
        self._reasoning = [reasoning]

    def describe_text(self) -> Frame:
        self._stable, self._reasoning = ["".join(self._stable)], ["".join(self._reasoning)]
        return {"stable": self._stable[0], "tail": self._tail, "reasoning": self._reasoning[0]}
