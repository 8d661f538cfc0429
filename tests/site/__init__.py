"""The documentation site: pages made from code, pictures made from runs."""
