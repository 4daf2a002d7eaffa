"""The untrusted side: loads a learner's module, traces its functions, asks it questions.

Runs in a process of its own. It holds no expected value, and nothing that it says is believed.
"""
