"""The example of the first screen: a conversation with a checkpoint and two branches, to try time travel in.

It is imported like a file, without a model: one change, the person's own, and the same example is there once.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from langchain_core.messages import AIMessage, HumanMessage

from checkpoints.interchange import transfer
from checkpoints.interchange.document_checks import check_document
from checkpoints.interchange.tree_builder import ByteBudget, Place, TreeBuilder
from checkpoints.interchange.waymark import Document
from checkpoints.values import serde
from checkpoints.values.answer_spec import make_spec_entry
from components import page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.services import Services
from components.widgets import TRANSCRIPT_ID
from words import N_, _

# The document has the same hash each time, so that a second press opens what the first has made: its times are set later.
_NO_TIME = "2026-01-05T09:00:00+00:00"
_STEP = timedelta(minutes=1)
TITLE = N_("Example: a weekend in Lisbon")
CHECKPOINT = N_("First plan")
BRANCHES = (N_("With children"), N_("On a budget"))
_PLAN = (
    N_("Plan a weekend in Lisbon for two."),
    N_(
        "- **Friday**: arrive, and have dinner in Alfama.\n"
        "- **Saturday**: take tram 28, visit Belém, and hear fado at night.\n"
        "- **Sunday**: see the flea market, and walk along the river."
    ),
)
_WITH_CHILDREN = (
    N_("Our two children come along."),
    N_(
        "- **Friday**: arrive, and have an early dinner near the river.\n"
        "- **Saturday**: visit the oceanarium, and ride the cable car.\n"
        "- **Sunday**: take the ferry to Cacilhas, and have an ice cream."
    ),
    N_("What can I try here?"),
    N_(
        "Go back in time. Nothing gets lost:\n\n"
        "1. **Go back.** In History, choose the diamond “First plan”, and press “Restore”.\n"
        "2. **Change your mind.** Press Undo in the bar: everything is here again.\n"
        "3. **Take the other way.** In History, choose the branch “On a budget”, and press “Switch”.\n"
        "4. **Try your own.** Go back once more, and ask what to do if it rains."
    ),
)
_ON_A_BUDGET = (
    N_("Make it as cheap as possible."),
    N_(
        "- **Friday**: take the night bus, and buy dinner at a market.\n"
        "- **Saturday**: walk where tram 28 goes, and enjoy the view from Graça.\n"
        "- **Sunday**: many museums are free until two."
    ),
)


def build_example(now: datetime) -> Document:
    """Build the example in the language of the request, as if its last message were of now."""
    document = _build_document()
    times = [now - number * _STEP for number in reversed(range(len(document.messages)))]
    messages = [replace(part, created_at=at) for part, at in zip(document.messages, times, strict=True)]
    checkpoints = [part.model_copy(update={"timestamp": times[len(_PLAN) - 1]}) for part in document.checkpoints]
    return document.model_copy(update={"messages": messages, "checkpoints": checkpoints})


def _build_document() -> Document:
    tree = TreeBuilder(ByteBudget())
    plan = _add_texts(tree, _PLAN, None)
    ends = [_add_texts(tree, texts, plan) for texts in (_WITH_CHILDREN, _ON_A_BUDGET)]
    branches = [
        {"id": f"branch-{number}", "name": _(name), "head": end.id}
        for number, (name, end) in enumerate(zip(BRANCHES, ends, strict=True))
    ]
    tree.add_checkpoint(
        {
            "id": f"example-{plan.id}",
            "name": _(CHECKPOINT),
            "description": _("Both branches go on from here."),
            "created_by": "user",
            "timestamp": _NO_TIME,
            "message_id": plan.id,
            "message_count": len(_PLAN),
            "branch": branches[0]["id"],
        }
    )
    return check_document(tree.make_document(_(TITLE), branches))


def _add_texts(tree: TreeBuilder, texts: tuple[str, ...], after: Place | None) -> Place:
    """Add questions and answers in turn, and return the last."""
    place = after
    for number, text in enumerate(texts):
        answer = AIMessage(_(text), response_metadata=make_spec_entry("demo"))
        message = answer if number % 2 else HumanMessage(_(text))
        place = tree.add_message(serde.to_body(message), place, _NO_TIME)
    assert place
    return place


async def _open_example(services: Services, action: Action) -> Answer:
    """Go to the example. Its notice of an import would say nothing that the person does not know."""
    document = await services.run_blocking(build_example, services.store.now())
    made = await services.run_blocking(transfer.import_thread, services.store, document)
    address = page_state.thread_address(made.result or "")
    return Answer(page_state.build_update(go=address, closed=str(made.version)), action.accept())


ACTIONS: Mapping[str, Handlers] = {TRANSCRIPT_ID: {"example": _open_example}}
PANEL = Panel(actions=ACTIONS)
