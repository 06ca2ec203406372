"""The figures and theorems of the paper, remade."""
