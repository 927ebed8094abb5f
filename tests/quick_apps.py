"""Apps of tests: each test makes one of its own, and all share what FastAPI finds out about the parameters of routes."""

from typing import Any

from dash._hooks import HooksManager
from fastapi.dependencies import utils


def share_route_parameters() -> None:
    """Analyze a parameter once a process: all apps have the same routes, and this took a third of the time of making one."""
    analyze, known = utils.analyze_param, dict[object, utils.ParamDetails]()

    def find(*, param_name: str, annotation: Any, value: Any, path_param_names: set[str]) -> utils.ParamDetails:
        key = (param_name, annotation, type(value), value, param_name in path_param_names)
        if not isinstance(annotation, type) or not isinstance(value, str | int | float | bool | type | None):
            return analyze(param_name=param_name, annotation=annotation, value=value, path_param_names=path_param_names)
        if key not in known:
            known[key] = analyze(
                param_name=param_name, annotation=annotation, value=value, path_param_names=path_param_names
            )
        return known[key]

    utils.analyze_param = find


def look_for_no_hooks() -> None:
    """Spare each app the look through all installed packages for extensions of Dash. No package of ours brings any."""
    HooksManager._registered = True
