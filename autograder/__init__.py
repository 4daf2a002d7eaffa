"""The grader of attention-lab. Importing it imports neither NumPy nor JAX."""
