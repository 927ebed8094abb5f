"""One runner, one table: what the states and the page cost, beside what others cost in the same run."""
