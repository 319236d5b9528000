"""Shows, and heals, clusters that the drivers have made."""
