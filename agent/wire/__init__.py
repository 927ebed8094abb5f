"""The wire between the processes of one PostgreSQL: events, batches, mirrors."""
