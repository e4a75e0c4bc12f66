"""What a team sees and does on its pages, and what staff see of all rooms."""
