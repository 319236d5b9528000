"""Shows the status of clusters that the drivers have made; changes nothing."""
