"""Training and evaluation of Tressette agents, and the ``tressette`` command line."""
