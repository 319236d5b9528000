"""Programs that the drivers send to machines and run there, with nothing else installed."""
