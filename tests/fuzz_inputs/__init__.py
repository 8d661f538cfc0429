"""`make fuzz-inputs`: bad inputs for every reader and every command; each ends in a sentence, or in rows counted."""
