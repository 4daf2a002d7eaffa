"""The trusted side: validates artifacts, compiles and runs them. Runs no learner code."""
