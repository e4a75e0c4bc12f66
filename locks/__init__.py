"""Task locks for teams: names of a team's own, held by sessions or by single grants."""
