"""What Tacker's APIs give and take, translated; the rest of the drivers does not know Tacker."""
