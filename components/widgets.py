"""The Python half of the hand-written Dash components; the other half is assets/modules.

Each takes its whole content as one `data` value, since a component for every element would cost seconds at a thousand
messages. What a person does there is sent to `components.action_routes`, whose answer comes as `reply`. An icon has a
`name`.
"""

from typing import Any

from dash import html
from dash.development.base_component import Component

# Several panels handle the actions of these lists.
TRANSCRIPT_ID = "transcript"
HISTORY_ID = "history"


class _Widget(Component):
    """The metadata that Dash needs from a component without a build step."""

    _children_props: list[str] = []  # noqa: RUF012  (read by Dash from the class)
    _base_nodes = ["children"]  # noqa: RUF012
    _namespace = "waymark"
    _valid_wildcard_attributes: list[str] = []  # noqa: RUF012
    available_wildcard_properties: list[str] = []  # noqa: RUF012

    _type: str

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # The list of assets/waymark.mjs has the component under this name.
        cls._type = cls.__name__

    def __init__(self, **props: Any) -> None:
        self._prop_names = ["children", "id", "data", "reply", "name"]
        self.available_properties = self._prop_names
        super().__init__(**props)  # type: ignore[no-untyped-call]


class Threads(_Widget):
    """The list of conversations."""


class Transcript(_Widget):
    """The conversation: its messages, and the answer in progress."""


class Composer(_Widget):
    """The message field, and everything else about a message before it is sent."""


class History(_Widget):
    """The graph of the conversation's places."""


class Palette(_Widget):
    """The palette, which finds places, actions and messages, while it has `data`."""


class PromptVariables(_Widget):
    """The dialog that asks for the variables of the prompt in `data`."""


class Log(_Widget):
    """The entries of the change log."""


class Icon(_Widget):
    """An icon by its name in Bootstrap Icons."""


class Markup(_Widget):
    """HTML, `data`, that the server has written and escaped. For thousands of parts, components would take seconds."""


class Message(_Widget):
    """A message without actions: `message` of `data`, or its text as `html`."""


class Time(_Widget):
    """A moment, `data` in ISO-8601, in the browser's time zone. With the name “age”, it says how long ago.

    With the name “seconds”, it has them.
    """


def build_menu_item(icon: str, name: str, identifier: str, **options: Any) -> Component:
    """Build a button of the bar's menu, with its name in words."""
    return html.Button([Icon(name=icon), html.Span(name)], id=identifier, className="menu-item", **options)
