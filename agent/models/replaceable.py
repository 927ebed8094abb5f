"""The app's models. A person may connect another provider while the app runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.models.catalog import ConfiguredModels
from agent.models.parameters import DEFAULT_PARAMETERS, ModelParameters

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class ReplaceableModels:
    """A catalogue whose models can be replaced as a whole. A run keeps the model with which it began."""

    def __init__(self, models: ConfiguredModels) -> None:
        self.current = models

    @property
    def default_spec(self) -> str:
        return self.current.default_spec

    @property
    def parameters(self) -> ModelParameters:
        return self.current.parameters

    @property
    def specs(self) -> Sequence[str]:
        return self.current.specs

    def label_provider(self, spec: str) -> str:
        return self.current.label_provider(spec)

    def load_model(self, spec: str | None = None, parameters: ModelParameters = DEFAULT_PARAMETERS) -> BaseChatModel:
        return self.current.load_model(spec, parameters)
