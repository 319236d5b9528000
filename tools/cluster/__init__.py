"""Looks at clusters that the drivers have made; changes nothing."""
