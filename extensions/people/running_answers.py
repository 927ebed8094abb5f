"""Running answers of a person who may no longer write: they could not stop these, and each may call tools."""

from checkpoints import act_for
from components.services import Services


async def stop_answers(services: Services, person: str) -> None:
    """Stop the answers that a person asked for, also in others' conversations."""
    with act_for(person):
        for thread_id in await services.run_blocking(_list_asked, services, person):
            await services.runner.stop(thread_id)


def _list_asked(services: Services, person: str) -> list[str]:
    store, runs = services.store, services.runs
    found = [(each, runs.get_latest_run(each)) for each in runs.list_running_threads()]
    return [each for each, run in found if run and (run.person or store.get_thread(each).owner) == person]
