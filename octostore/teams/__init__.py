"""Who may act: people, teams, their API keys, what they may do and how much of it."""
