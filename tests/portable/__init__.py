"""What tests on real clusters of Java processes share."""
