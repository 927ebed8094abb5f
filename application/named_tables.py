"""The named tables of waymark.toml, such as `[graphs.NAME]`."""

from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from application.setting_types import GRAPH_PATH, GRAPH_RULE, PRICE_RULE, Address, check_header, refuse_bool


class _TableModel(BaseModel):
    """A named table. Descriptions complete the sentence "KEY must be ..."."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_truth(cls, value: Any, info: ValidationInfo) -> Any:
        return value if cls.model_fields[str(info.field_name)].annotation is bool else refuse_bool(value)


class AgentDefinition(_TableModel):
    """A sub-agent: its instructions, the names of its tools, its description for other agents, and its model."""

    instructions: str = Field(min_length=1, description="a text")
    tools: tuple[str, ...] = Field((), description="a list of tools' names")
    description: str = Field("", description="a text")
    model: str | None = Field(None, description="a model, such as openai:NAME")


class McpServerDefinition(_TableModel):
    """An MCP server: a program with its input and output, or an address.

    A program gets only the keys in `env`, none of Waymark's own. With `approval`, its tools wait for a person.
    """

    command: str | None = Field(None, min_length=1, description="the name or the path of a program")
    args: tuple[str, ...] = Field((), description="a list of texts")
    env: dict[str, SecretStr] = Field({}, description="a table of texts")
    url: Address = None
    headers: dict[str, Annotated[SecretStr, AfterValidator(check_header)]] = Field(
        {}, description="a table of texts in ASCII"
    )
    approval: bool = Field(True, description="true or false")

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError
        return self


class ExtensionTable(BaseModel):
    """The settings of an extension, which checks them itself."""

    model_config = ConfigDict(extra="allow", frozen=True)


class GraphTable(_TableModel):
    """A LangGraph graph: its file and variable, its description for people, its runs' context, and its messages' channel.

    Without a path, the table adds the rest to a graph of `GRAPH`.
    """

    path: str | None = Field(None, pattern=GRAPH_PATH, description=GRAPH_RULE)
    description: str = Field("", description="a text")
    context: dict[str, Any] = Field({}, description="a table")
    messages_key: str | None = Field(None, description="the name of a channel")


class PriceDefinition(_TableModel):
    """The price of a model in US dollars per million tokens. Without `cached`, cached input costs as much as other input."""

    input: float = Field(ge=0, allow_inf_nan=False, description=PRICE_RULE)
    cached: float | None = Field(None, ge=0, allow_inf_nan=False, description=PRICE_RULE)
    output: float = Field(ge=0, allow_inf_nan=False, description=PRICE_RULE)
