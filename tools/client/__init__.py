"""What the demo, the benchmarks and the scenarios share: a client of the cloud behind Tacker.

Only Tacker's, Heat's and the machines' own interfaces are used, so that every cloud will do.
"""
