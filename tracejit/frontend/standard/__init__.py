"""Forms of modules of Python's standard library, for traced values.

Calls of the user's come in, with traced numbers or arrays among their arguments; traced numbers go out. Start with
`statistics_`.
"""
