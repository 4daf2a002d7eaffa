"""Checks of the course's pages. Each has a small wrong page that must fail it."""
