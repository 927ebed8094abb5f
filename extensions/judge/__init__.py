"""Milestones: after a run a model is asked whether the conversation has reached one, which becomes a checkpoint."""

from agent.run.parts import RunParts
from application.extension import Extension
from application.settings import Settings
from extensions.judge.judge import Judge


def build_judge(_: Settings, parts: RunParts) -> Judge:
    return Judge(parts)


EXTENSION = Extension(name="judge", build_follower=build_judge)
