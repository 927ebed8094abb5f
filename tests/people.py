"""Two people, and things of every kind that each of them has."""

from dataclasses import dataclass

from langchain_core.messages import HumanMessage

from checkpoints import CandidateEnd, NewMessage, Rerun, RunEnd, Runs, RunState, Store, act_for
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.people.shares import NewShare, Shares
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.tags import Tags
from checkpoints.values import files, serde
from tests.checkpoints.conversations import new

UNKNOWN = "0123456789abcdef0123"


@dataclass(frozen=True)
class Things:
    """The ids of one person's things, or of things that never were."""

    thread: str
    message: str
    checkpoint: str
    branch: str
    tag: str
    prompt: str
    run: str
    rerun: str
    source: str
    digest: str = "0" * 64
    upload: str = "0123456789abcdef012345"
    request: str = UNKNOWN
    share: str = UNKNOWN


NOTHING = Things(*[UNKNOWN] * 9)


def fill(store: Store, owner: str) -> Things:
    """Let somebody leave a row of every kind. The last run is at work, and nobody drives it."""
    runs, prompts = Runs(store), SavedPrompts(store)
    with act_for(owner):
        DefaultInstructions(store).save_text(f"heron of {owner}")
        file = files.parse_file("heron.txt", f"the heron of {owner}".encode())
        content = files.build_content(f"the heron of {owner}", [files.make_file_part(file)])
        question = NewMessage(serde.to_body(HumanMessage(content)), files=(file,))
        first = runs.begin_run(None, question, title=f"heron of {owner}", models=["a", "b"])
        for each in runs.list_candidates(first.id):
            runs.end_candidate(first, CandidateEnd(each, RunEnd(RunState.DONE), new("", f"heron of {owner}")[1:]))
        runs.end_run(first, RunState.DONE)
        thread = first.thread_id
        message = store.list_messages(thread)[0].id
        rerun = Rerun(store.new_id(), thread, "", {}, (message,))
        runs.end_run(runs.begin_rerun(rerun, new("again")[0], after=None, name="again"), RunState.DONE)
        checkpoint = store.save(thread, name=f"heron of {owner}").result
        branch = store.fork(thread, message, name=f"heron of {owner}").result
        store.tag_thread(thread, add=[f"heron of {owner}"])
        share = Shares(store).make_link(f"link of {owner}", NewShare(thread, checkpoint)).id
        prompts.save_prompt(f"prompt-{owner}", f"heron of {owner}", "x")
        [tag] = Tags(store).list_tags()
        run = runs.begin_run(thread, new("still at it")[0])
    digest = file.hash.removeprefix("sha256:")
    return Things(
        *(thread, message, checkpoint, branch, tag.id, f"prompt-{owner}", run.id, rerun.id, f"sha256:{owner}", digest),
        share=share,
    )
