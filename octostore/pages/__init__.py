"""What people see: sign-in, their account, invitations, the staff area, and what all HTML pages share."""
