"""The loops of solvers that are made of `lax`'s control flow: `least_squares`, and roots in intervals and from guesses.

Searches for minima are written in Python, which is followed: `tracejit.scipy.written.minima`.
"""
