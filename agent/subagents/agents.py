"""The agents beside the main agent: their instructions, their tools, and their descriptions for other agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agent:
    """A sub-agent. It has the enabled tools among `tools`. Without a `model`, it uses the conversation's model."""

    name: str
    instructions: str
    tools: tuple[str, ...] = ()
    description: str = ""
    model: str | None = None


Agents = Mapping[str, Agent]
RESEARCHER = Agent(
    "researcher",
    "Find out what you are asked, with the tools that you have. Give the facts in a few sentences, each with where it comes "
    "from. Say plainly what you could not find or are not sure of.",
    ("web_search", "read_file"),
    "finds things out on the web and in files, as far as these are set up, and names its sources",
)
CRITIC = Agent(
    "critic",
    "Look for what is wrong, missing or doubtful in what you are shown. Name the most serious points first, each with the "
    "reason and with what would be better. If it is good, say so; make nothing up.",
    (),
    "looks for mistakes and gaps in a text, a plan or an argument; it sees only what the question holds",
)
BUILT_IN_AGENTS = {agent.name: agent for agent in (RESEARCHER, CRITIC)}


def describe_agents(agents: Sequence[Agent]) -> str:
    """Describe the agents in a list for a model."""
    return "\n".join(f"- {agent.name}: {agent.description or 'no description'}" for agent in agents)
