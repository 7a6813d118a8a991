"""What functions find outside that is no container or object of the user's, and is read anew at each call:
iterators, views of dicts, what functions give that ask for files and settings.

In comes what was met and its path; out goes what stands for it, with guards. Read `iterators`, `asked`, `settings`.
"""
