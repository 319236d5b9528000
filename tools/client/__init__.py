"""A client of Tacker and its cloud, which the demo and the scenarios share.

The client uses the APIs of Tacker and Heat and SSH to machines only, and so works on every cloud.
"""
