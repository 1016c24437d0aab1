"""One page about a file of results: ``tressette report``."""
