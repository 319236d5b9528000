"""What the demo, the benchmarks and the scenarios share: a client of Tacker and its cloud.

It uses the APIs of Tacker and Heat and the machines' SSH, and so works with every cloud.
"""
