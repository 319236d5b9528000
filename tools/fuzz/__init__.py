"""Parameters that attack: mutated requests are refused with a path, or stay in their places."""
