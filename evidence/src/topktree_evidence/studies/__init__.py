"""The studies: each has runs, a table, pictures, and a part of a page."""
