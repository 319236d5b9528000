"""A client of Tacker and its cloud, which the demo and the scenarios share.

It uses the APIs of Tacker and Heat and the machines' SSH, and so works with every cloud.
"""
