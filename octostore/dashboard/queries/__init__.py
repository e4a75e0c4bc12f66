"""What each screen reads. Nothing here writes, and no column that proves or acts as a hold is selected."""
