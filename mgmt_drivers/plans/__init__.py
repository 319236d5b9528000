"""What each LCM operation does: its phases, in order."""
