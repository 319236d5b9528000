"""Stand-ins for machines, Heat and Tacker, for tests: strict fakes and a simulated cluster."""
