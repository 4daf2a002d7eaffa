"""What an instructor wants to know of a graded class: a table, and a page of one file."""
