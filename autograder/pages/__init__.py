"""The course's pages: which there are, what fills them from the measurements, and what checks them."""
