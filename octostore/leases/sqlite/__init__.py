"""The engine on SQLite: one writer at a time in each process, in order, and its statements."""
