"""The command line: a thin door to the library."""
