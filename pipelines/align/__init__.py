"""Documents in two languages: which belong together, and their sentences aligned in order."""
