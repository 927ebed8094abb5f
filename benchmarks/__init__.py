"""One runner, one table: the costs of the states and the page, beside those of other solutions in the same run."""
