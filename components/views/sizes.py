"""Numbers of bytes for people."""

from words import _


def format_size(count: int) -> str:
    """Write a number of bytes as assets/modules/lib/format.mjs does: “850 B”, “12 kB”, “3.4 MB”, “24 GB”."""
    if count < 1_000:
        return f"{count} B"
    if count < 999_500:
        return f"{count / 1_000:.0f} kB"
    size, unit = (count / 1_000_000, "MB") if count < 999_500_000 else (count / 1_000_000_000, "GB")
    number = f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
    return f"{number.replace('.', _('1.5')[1])} {unit}"
