"""A person's judgement of sampled pairs, and the threshold that follows from it."""
