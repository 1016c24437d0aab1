"""The page of results: a plan of commands, their output kept part by part, one page of it all.

``plan`` reads the commands, ``parts`` runs those that are not done, ``page`` writes what they
found, ``command`` puts them together.
"""
