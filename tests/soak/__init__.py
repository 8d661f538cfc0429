"""`make soak`: faults at random moments of every command that writes, and then the command again: same result."""
