"""The judge's part of each exercise: what to trace, what to ask, how to decide. Never seen by a tracer."""
