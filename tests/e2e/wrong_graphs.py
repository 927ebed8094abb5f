"""Graphs that are wrong, as people write them, each with the words that the page says of it or shows of its answer."""

from dataclasses import dataclass

from tests.extensions.graphs.running_graphs import one_node

HOSTILE_WORDS = "<img src=x onerror='isHarmed = true'> **bold** "
NAMES_OF_OURS = ["run_id", "head_id", "state_id", "values", "versions", "seen", "metadata", "resumed"]
_OTHER = 'if state["messages"][-1].text == "other": return {"messages": [AIMessage("here")]}'


@dataclass(frozen=True)
class WrongGraph:
    """The file of a graph, and words of the page."""

    text: str
    words: str


def _node(body: str, words: str, *, head: str = "def node(state):", before: str = "", tail: str = "") -> WrongGraph:
    """A graph whose node does this, and answers the message "other" as it should."""
    return WrongGraph(f"{one_node(before + head + chr(10) + '    ' + _OTHER + chr(10) + '    ' + body)}\n{tail}\n", words)


def _async_node(body: str, words: str) -> WrongGraph:
    return _node(body, words, head="async def node(state):")


FAILING = {
    "raises": _node("raise ValueError('boom')", "raises.py, line 20: ValueError: boom."),
    "raises_no_exception": _node("raise Base('boom')", ", line 21: Base: boom.", before="class Base(BaseException): pass\n"),
    "raises_hostile_words": _node(f'raise ValueError("{HOSTILE_WORDS}" * 10_000)', f"ValueError: {HOSTILE_WORDS}"),
    "raises_unprintable": _node(
        "raise Unprintable",
        ", line 22: Unprintable.",
        before="class Unprintable(Exception):\n    def __str__(self): raise OSError\n",
    ),
    "exits": _node("sys.exit(3)", ", line 20: SystemExit: 3."),
    "cancels_itself": _async_node("raise asyncio.CancelledError", "Node 'node' raised asyncio.CancelledError."),
    "has_nothing_next": _node("next(iter([]))", ", line 20: StopIteration."),
    "needs_a_key": _node("import os; os.environ['THEIR_KEY']", ", line 20: KeyError: 'THEIR_KEY'."),
    "imports_nothing": _node("import nothing_of_theirs", "ModuleNotFoundError: No module named 'nothing_of_theirs'."),
    "returns_a_number": _node("return 5", "InvalidUpdateError: Expected dict, got 5."),
    "returns_no_json": _node("return {'thing': Odd()}", "TypeError: Type is not msgpack serializable: Odd."),
    "returns_itself": _node(
        "ring = []; ring.append(ring)\n    return {'thing': ring}", "TypeError: Recursion limit reached."
    ),
    "returns_half_a_message": _node(
        "return {'messages': [{'role': 'assistant'}]}", "ValueError: Message dict must contain 'role' and 'content' keys"
    ),
    "says_no_json": _node(
        "return {'messages': [AIMessage('x', additional_kwargs={'a': float('nan')})]}",
        "The graph wrote a message that has values that JSON cannot carry, so the conversation cannot show it.",
    ),
    "says_nothing_readable": _node(
        "said = AIMessage('x'); said.content = None; return {'messages': [said]}",
        "The graph wrote a message that has fields that LangChain cannot read, so the conversation cannot show it.",
    ),
    "says_too_much": _node(
        "return {'messages': [AIMessage('x' * 2_000_000)]}",
        "The graph wrote a message that has more than 2,000,000 characters",
    ),
    "calls_too_much": _node(
        "return {'messages': [AIMessage('', tool_calls=[{'name': 't', 'args': {}, 'id': str(n)} for n in range(129)])]}",
        "The graph wrote a message that makes more than 128 tool calls",
    ),
    "asks_no_json": _node("interrupt(Odd())", "TypeError: Type is not msgpack serializable: Interrupt."),
    "writes_twice_at_once": _node(
        "return {'thing': 1}",
        "InvalidUpdateError: At key 'thing': Can receive only one value per step.",
        tail='builder.add_node("two", lambda state: {"thing": 2})\nbuilder.add_edge(START, "two")\n'
        "graph = builder.compile()",
    ),
    "never_ends": _node(
        "return {'thing': 1}",
        "GraphRecursionError: Recursion limit of ",
        tail='builder.add_conditional_edges("node", lambda state: "node" if state.get("thing") else END)\n'
        "graph = builder.compile().with_config(recursion_limit=20)",
    ),
    "breaks_off": _node(
        "list(FakeListChatModel(responses=['half an answer']).stream('x')); raise OSError('down')",
        "OSError: down.",
        before="from langchain_core.language_models import FakeListChatModel\n",
    ),
}
UNMADE = {
    "makes_a_dict": WrongGraph("def graph(): return {}", "line 1: graph made an object of the type dict, and not a graph"),
    "needs_a_key_first": WrongGraph("import os\ndef graph(): os.environ['THEIR_KEY']", "line 2: KeyError: 'THEIR_KEY'."),
    "exits_at_once": WrongGraph("import sys\nasync def graph(): sys.exit(3)", "line 2: SystemExit: 3."),
    "lacks_a_context": WrongGraph(
        "from dataclasses import dataclass\nfrom langgraph.graph import MessagesState, StateGraph\n"
        "@dataclass\nclass Context:\n    user: str\n"
        "graph = StateGraph(MessagesState, context_schema=Context).add_node('node', lambda state: {})\n"
        "graph = graph.add_edge('__start__', 'node').compile()",
        "Its context has no user: waymark.toml can give it, under [graphs.lacks_a_context] as context.",
    ),
}
BLOCKING = {
    "blocks_a_thread": _node("time.sleep(600)", "You stopped this answer before it began."),
    "blocks_its_loop": _async_node("time.sleep(600)", "You stopped this answer before it began."),
    "swallows_the_stop": _async_node(
        "while True:\n        try:\n            await asyncio.sleep(600)\n"
        "        except asyncio.CancelledError:\n            pass",
        "You stopped this answer before it began.",
    ),
}
STRANGE = {
    "floods": _node(
        "for n in range(20_000): get_stream_writer()('x' * 1_000)\n    print('x' * 1_000_000)\n"
        "    return {'messages': [AIMessage(f'flood {n}') for n in range(200)]}",
        "flood 199",
    ),
    "changes_messages_in_place": _node(
        "state['messages'][-1].content = 'x'; return {'messages': [AIMessage('mutated')]}", "mutated"
    ),
    "names_channels_like_ours": _node(
        f"return dict.fromkeys({NAMES_OF_OURS}, 1) | {{'messages': [AIMessage('named')]}}", "named"
    ),
    "takes_the_users_place": _node("return {'messages': [AIMessage('instead', id=state['messages'][-1].id)]}", "instead"),
    "leaves_calls_open": _node(
        "return {'messages': [AIMessage('called', tool_calls=[{'name': 't', 'args': {}, 'id': '1'}] * 2)]}", "called"
    ),
    "goes_nowhere": _node(
        "from langgraph.types import Command; return Command(goto='nowhere')", "There is no answer of the graph here."
    ),
}
_FIELDS = "".join(f"    {name}: Any\n" for name in NAMES_OF_OURS)
FILES = {
    name: graph.text.replace("    thing: Any\n", f"    thing: Any\n{_FIELDS}")
    if name == "names_channels_like_ours"
    else graph.text
    for name, graph in (FAILING | UNMADE | BLOCKING | STRANGE).items()
}
