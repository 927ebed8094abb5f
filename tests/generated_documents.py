"""Documents of all shapes at once: segments, branches, checkpoints, forks of agents, sub-agents, calls and texts.

Each number is drawn between 1 and a share of its limit, as a power of it: small and large ones are as likely.
"""

from dataclasses import dataclass

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints.values import limits
from tests.checkpoints import shapes

MAX_SEGMENTS = 5_000
MAX_TURNS = 2_000
TOOLS = ["look", "fork", "ask_agent", "goto"]
TEXTS = ["x", "word ", "[a]", "**b** ", "|a", "\n", "> ", "$x$ ", "`c` ", "🙂", "[a]: http://b\n\n[a]"]


@dataclass(frozen=True)
class Tree:
    """The numbers of a document."""

    segments: int  # one below the other
    turns: int  # of the last segment
    alternatives: int  # of its last message
    branches: int
    checkpoints: int
    calls: int  # of each of its answers
    tool: str
    agents: int  # that answer in turn
    text: str
    chars: int  # of each answer

    def write(self) -> str:
        """Write the document. It may be larger than what is accepted."""
        lines, forks = self._write_segments()
        names = {line[0]: f"agent {number % self.agents}" for number, line in enumerate(lines) if number % self.agents}
        last = self._write_turns(lines)
        ends = self._write_alternatives(lines, last)
        heads = [*ends[::-1], *forks][: self.branches]
        marks = [(lines[-1 - number % len(lines)][0], f"Mark {number}") for number in range(self.checkpoints)]
        return shapes.written(lines, heads, marks, names)

    def _write_segments(self) -> tuple[list[shapes.Line], list[str]]:
        lines: list[shapes.Line] = [("m0", None, HumanMessage("Begin"))]
        for number in range(1, self.segments):
            lines += [
                (f"f{number}", f"m{number - 1}", HumanMessage("Other")),
                (f"m{number}", f"m{number - 1}", HumanMessage("On")),
            ]
        return lines, [f"f{number}" for number in range(1, self.segments)]

    def _write_turns(self, lines: list[shapes.Line]) -> str:
        last = lines[-1][0]
        for number in range(self.turns):
            calls = [{"name": self.tool, "args": {}, "id": f"call_{each}"} for each in range(self.calls)]
            text = (self.text * self.chars)[: self.chars]
            for part, message in enumerate(
                (
                    HumanMessage("And?"),
                    AIMessage(f"{number} {text}", tool_calls=calls),
                    ToolMessage(text, tool_call_id="call_0"),
                )
            ):
                lines.append((f"t{number}-{part}", last, message))
                last = lines[-1][0]
        return last

    def _write_alternatives(self, lines: list[shapes.Line], parent: str) -> list[str]:
        for number in range(self.alternatives):
            mark = {"fork": {"call": "call_0", "number": number + 1}}
            lines.append((f"a{number}", parent, HumanMessage("Try", additional_kwargs=mark)))
        return [f"a{number}" for number in range(self.alternatives)]


def generate_trees(share: float) -> st.SearchStrategy[Tree]:
    """Generate trees with numbers up to a power of the limits: 1 is the limit itself."""

    def up_to(limit: int) -> st.SearchStrategy[int]:
        return st.floats(0, share).map(lambda power: max(1, round(limit**power)))

    return st.builds(
        Tree,
        segments=up_to(MAX_SEGMENTS),
        turns=up_to(MAX_TURNS),
        alternatives=up_to(limits.MAX_ALTERNATIVES),
        branches=up_to(limits.MAX_BRANCHES_AND_CHECKPOINTS),
        checkpoints=up_to(limits.MAX_BRANCHES_AND_CHECKPOINTS),
        calls=up_to(limits.MAX_CALLS),
        tool=st.sampled_from(TOOLS),
        agents=st.integers(1, 3),
        text=st.sampled_from(TEXTS),
        chars=up_to(limits.MAX_ANSWER_CHARS),
    )
