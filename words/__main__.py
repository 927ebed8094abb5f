"""`python -m words`: bring the catalogues up to date with the sources."""

from words.extraction import update_catalogues

update_catalogues()
