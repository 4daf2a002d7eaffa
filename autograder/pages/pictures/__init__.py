"""The pictures of the course, drawn as SVG for light and dark pages."""
