"""The answers in progress: texts and reasoning that no message has yet, and the models that write them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from langchain_core.messages import AIMessage

from checkpoints import NewMessage, make_partial_messages
from checkpoints.values import serde
from checkpoints.values.answer_spec import make_spec_entry
from checkpoints.values.reasoning import Reasoning


class PendingAnswers:
    """The answers in progress, by agent."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._reasoning: defaultdict[str, list[str]] = defaultdict(list)
        self._models: dict[str, str] = {}

    def note_model(self, spec: str, agent: str) -> None:
        self._models[agent] = spec

    def keep_text(self, delta: str, agent: str) -> None:
        self._texts[agent].append(delta)

    def keep_reasoning(self, delta: str, agent: str) -> None:
        self._reasoning[agent].append(delta)

    def keep_text_as_reasoning(self, agent: str) -> None:
        self._reasoning[agent] += self._texts.pop(agent, ())

    def find_text(self, agent: str) -> str:
        return "".join(self._texts.get(agent, ()))

    def find_reasoning(self, agent: str) -> Reasoning:
        return Reasoning("".join(self._reasoning.get(agent, ())))

    def drop_text(self, agent: str) -> bool:
        """Drop a text, and return whether there was one."""
        return bool(self._texts.pop(agent, None))

    def drop_reasoning(self, agent: str) -> None:
        self._reasoning.pop(agent, None)

    def make_partials(self) -> Iterator[NewMessage]:
        """Make the messages that the answers become when they are cut off."""
        for agent in dict.fromkeys((*self._texts, *self._reasoning)):
            made = make_partial_messages(self.find_text(agent), self.find_reasoning(agent), self._models.get(agent, ""))
            yield from (replace(new, agent=agent) for new in made)

    def make_partial(self, agent: str) -> AIMessage | None:
        """Make the message that an agent's answer becomes when it is cut off; None if nothing has arrived."""
        text, reasoning, model = self.find_text(agent), self.find_reasoning(agent), self._models.get(agent, "")
        if not (text or reasoning.text.strip()):
            return None
        metadata = make_spec_entry(model) if model else {}
        return AIMessage(serde.sanitize_text(text), additional_kwargs=reasoning.to_kwargs(), response_metadata=metadata)
