"""The engine on PostgreSQL: its connection (`base`, a Django database backend) and its statements."""
