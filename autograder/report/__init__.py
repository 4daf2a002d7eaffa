"""What a Report looks like: on a terminal, and as a JSON document."""
