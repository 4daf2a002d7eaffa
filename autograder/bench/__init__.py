"""Measurements that are made, not tested: run them and read."""
