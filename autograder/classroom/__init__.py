"""Classes: the exercises as notebooks, handed in and graded through nbgrader."""
