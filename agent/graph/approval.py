"""People's decisions in a run: which calls need a decision, and its effect. The values are in tools/decisions."""

import json
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from langchain_core.messages import ToolCall

from agent.graph.state import RunContext, ToolOutcome
from agent.tools.decisions import DENIED_TEXT, Decision, format_response
from agent.tools.fork import fork


def needs_decision(call: ToolCall, approval: Collection[str], tools: Collection[str], context: RunContext) -> bool:
    """Return whether a call needs a decision that no person has made yet."""
    explorer = context.fork_explorer
    is_fork = explorer is not None and explorer.needs_approval and call["name"] == fork.name in tools
    return (is_fork or call["name"] in approval) and not _is_decided(call, context)


def _is_decided(call: ToolCall, context: RunContext) -> bool:
    return is_begun(call, context) or call["id"] in context.decisions


def is_begun(call: ToolCall, context: RunContext) -> bool:
    """Return whether a sub-agent works on this call already."""
    return context.delegator is not None and context.delegator.is_in_progress(context.agent, call)


async def apply_decision(
    call: ToolCall, context: RunContext, run_call: Callable[[ToolCall], Awaitable[ToolOutcome]]
) -> ToolOutcome:
    """Run a call according to a person's decision, or unchanged if none was needed."""
    decision = context.decisions.get(call["id"] or "")
    settled = settle_call(decision)
    if settled is not None:
        return settled
    if decision is None or decision.kind == "allow":
        return await run_call(call)
    outcome = await run_call({**call, "args": decision.arguments or {}})
    changed = json.dumps(decision.arguments, ensure_ascii=False)
    return replace(outcome, text=f"(The user changed the arguments to {changed}.)\n{outcome.text}")


def settle_call(decision: Decision | None) -> ToolOutcome | None:
    """Return the outcome of a call that a person answered or denied, or None if the call runs."""
    if decision is None or decision.kind in ("allow", "edit"):
        return None
    if decision.kind == "respond":
        return ToolOutcome(format_response(decision))
    # An unknown kind of decision counts as a denial.
    return ToolOutcome(DENIED_TEXT, is_failed=True)
