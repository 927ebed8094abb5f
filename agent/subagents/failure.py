"""The failure of a sub-agent or of a branch, for the waiting agent and for people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HelperFailure:
    """Why an agent or a branch gave no answer: one sentence, and the provider's words without keys."""

    sentence: str
    provider_words: str | None = None

    def describe(self) -> str:
        return f"{self.sentence} The provider's words: “{self.provider_words}”" if self.provider_words else self.sentence
