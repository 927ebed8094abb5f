"""The extensions of other packages, found by their entry points (docs/extending.md)."""

from importlib import metadata

from application.extension import Extension
from application.settings import SettingsError

GROUP = "waymark.extensions"


def load_installed(name: str) -> Extension:
    """Import the extension that an installed package declares by this name. Raises `SettingsError`."""
    for entry_point in metadata.entry_points(group=GROUP, name=name):
        try:
            found = entry_point.load()
        except Exception as error:  # the package is another's
            raise SettingsError(f"EXTENSIONS: {name} cannot be imported: {type(error).__name__}: {error}") from error
        if not isinstance(found, Extension):
            raise SettingsError(f"EXTENSIONS: {entry_point.value} of {name} is no Extension.")
        return found
    known = ", ".join(sorted({each.name for each in metadata.entry_points(group=GROUP)})) or "none"
    raise SettingsError(f"EXTENSIONS: no installed package has an extension {name!r}. Installed: {known}.")
