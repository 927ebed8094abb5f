"""The form of a conversation's settings: the model, the instructions, and whether the agent may go back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component
from dash_bootstrap_components import Input as TextInput
from dash_bootstrap_components import RadioItems, Select
from dash_bootstrap_components import Textarea as TextArea

from agent.models.parameters import PARAMETER_RANGES, REASONING_EFFORTS, ModelParameters
from agent.models.providers import shorten_spec_among
from agent.settings import ThreadSettings
from checkpoints.values.limits import MAX_EXTRA_BODY_CHARS, MAX_INSTRUCTIONS_CHARS
from components.dialog import build_row_label
from components.widgets import Icon
from words import N_, _

SETTING = "setting"
# It stands for an empty value, which these lists cannot have.
DEFAULT = "default"
LISTS = ("model", "reasoning_effort")
_NUMBERS = {
    "temperature": (N_("Temperature"), "any"),
    "top_p": (N_("Top P"), "any"),
    "max_tokens": (N_("Longest answer (tokens)"), 1),
}
_POLICIES = {"ask": N_("Ask first"), "allow": N_("Always"), "off": N_("Never")}


@dataclass(frozen=True, slots=True)
class ShownSettings:
    """The settings of a conversation, and what they are by default. `thread` is None before the first message."""

    thread: str | None
    # What the server has, and what the form shows: before the first message also what the browser keeps.
    saved: ThreadSettings
    choice: ThreadSettings
    models: Sequence[str]
    default_model: str
    parameters: ModelParameters
    policy: str
    read_only: str | None

    @property
    def is_fixed(self) -> bool:
        return self.read_only is not None or bool(self.choice.graph)


def build_settings_form(shown: ShownSettings) -> list[Component]:
    if graph := shown.choice.graph:
        text = _("The graph {graph} answers here. It has a model and instructions of its own.", graph=graph)
        return [html.P(text)]
    note = shown.read_only or _("Takes effect from the next answer.")
    parts = [
        *_build_model(shown),
        *_build_instructions(shown.choice.instructions),
        _build_parameters(shown),
        *_build_policy(shown),
        html.P(note, className="quiet"),
    ]
    return [html.Fieldset(parts, disabled=shown.read_only is not None)]


def read_choice(shown: Mapping[str, Any], policy: str, seen: Mapping[str, str]) -> dict[str, str]:
    """Return the settings from the values of the form. The policy of the app is shown where none was chosen."""
    texts = {name: "" if value is None else str(value) for name, value in shown.items()}
    chosen = {name: "" if name in LISTS and text == DEFAULT else text for name, text in texts.items()}
    if chosen.get("time_travel") == (seen.get("time_travel") or policy):
        chosen["time_travel"] = seen.get("time_travel", "")
    return chosen


def name_row(name: str) -> dict[str, str]:
    return {"type": SETTING, "row": name}


def _build_model(shown: ShownSettings) -> list[Component]:
    chosen, usual = shown.choice.model, shown.default_model
    others = [each for each in shown.models if each != usual]
    is_gone = chosen not in ("", usual, *others)
    options = [
        {"label": _("{value} (default)", value=shorten_spec_among(usual, shown.models)), "value": DEFAULT},
        *({"label": shorten_spec_among(each, shown.models), "value": each} for each in others),
    ]
    if is_gone:
        options.append(
            {"label": _("{value} (no longer offered)", value=shorten_spec_among(chosen, shown.models)), "value": chosen}
        )
    value = DEFAULT if chosen in ("", usual) else chosen
    gone = html.P(_("This model can no longer be used. Choose another."), className="settings-problem")
    return [
        build_row_label(_("Model"), SETTING, "model"),
        Select(options, value, id=name_row("model")),
        *([gone] if is_gone else []),
    ]


def _build_instructions(text: str) -> list[Component]:
    field = TextArea(
        id=name_row("instructions"),
        value=text,
        dir="auto",
        rows=5,
        maxlength=MAX_INSTRUCTIONS_CHARS,
        placeholder=_("For example: Answer in French."),
    )
    about = _(
        "Sent with every request in this conversation, after your default instructions. At most {limit:,} characters.",
        limit=MAX_INSTRUCTIONS_CHARS,
    )
    return [build_row_label(_("Instructions"), SETTING, "instructions"), field, html.P(about, className="quiet")]


def _build_parameters(shown: ShownSettings) -> Component:
    """Build the parameters of the model, folded: few conversations have their own."""
    given = asdict(shown.choice)
    usual = {name: value for name, value in asdict(shown.parameters).items() if value is not None}
    summary: list[Any] = [html.Span(Icon(name="chevron-right"), className="fold-arrow"), _("Model parameters")]
    effort = usual.get("reasoning_effort")
    unchosen = _("{value} (default)", value=effort) if effort else _("default")
    efforts = [{"label": unchosen, "value": DEFAULT}, *({"label": each, "value": each} for each in REASONING_EFFORTS)]
    # The server's extra body may hold any text, such as a key.
    example = _("set on the server") if "extra_body" in usual else '{"seed": 7}'
    parts: list[Component] = [
        html.Summary(summary, className="form-label"),
        html.P(_("An empty field leaves the choice to the server and to the provider."), className="quiet"),
        *(each for name in _NUMBERS for each in _build_number(name, given[name], usual.get(name))),
        build_row_label(_("Reasoning effort"), SETTING, "reasoning_effort"),
        Select(efforts, given["reasoning_effort"] or DEFAULT, id=name_row("reasoning_effort")),
        build_row_label(_("Extra body (JSON)"), SETTING, "extra_body"),
        TextArea(
            id=name_row("extra_body"),
            value=given["extra_body"],
            rows=2,
            maxlength=MAX_EXTRA_BODY_CHARS,
            placeholder=example,
        ),
    ]
    is_chosen = any(given[name] for name in (*_NUMBERS, "reasoning_effort", "extra_body"))
    return html.Details(parts, open=is_chosen, className="fold settings-parameters")


def _build_number(name: str, value: str, usual: object) -> list[Component]:
    label, step = _NUMBERS[name]
    lowest, highest = PARAMETER_RANGES[name]
    placeholder = None if usual is None else str(usual)
    limits = {"min": lowest, "max": highest, "step": step}
    field = TextInput(id=name_row(name), type="number", value=value, placeholder=placeholder, **limits)
    return [build_row_label(_(label), SETTING, name), field]


def _build_policy(shown: ShownSettings) -> list[Component]:
    legend = html.Legend(_("Agent may go back"), className="form-label")
    if shown.policy == "off":
        return [html.Fieldset([legend, html.P(_("Going back is switched off for all conversations."), className="quiet")])]
    options = [{"label": _(label), "value": policy} for policy, label in _POLICIES.items()]
    value = shown.choice.time_travel or shown.policy
    radios = RadioItems(options, value, id=name_row("time_travel"), name="time_travel", inline=True)
    return [html.Fieldset([legend, radios, html.P(_("You can undo each move."), className="quiet")])]
