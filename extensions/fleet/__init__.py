"""Several processes on one PostgreSQL: a page at each, runs that outlive their process, and places for the next ones."""

from application.extension import Extension
from extensions.fleet.processes import join_processes

EXTENSION = Extension(name="fleet", join_processes=join_processes)
