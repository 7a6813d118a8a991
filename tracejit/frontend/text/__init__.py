"""Text of traced values, and what shows it: printing, logging, warnings, the clock.

While a function is traced, text that depends on traced values is a `Text`: a recipe that makes the real text from real
values. It is made when the program has run (results), or where the program is (entries, see
`control.callbacks.journal`). In come the objects that are shown, and out go `str`s where everything is known, else
`Text`s. Read `recipes` (what a text is made by), `deferred` (the object), `strings` (what strings do),
`shown` (`str`, `repr`, `format` of traced
things), `templates` (`%` and `str.format`), `written` (`json`, `pprint`,
`textwrap`), then what the text goes to: `sinks` (print and streams), `logs`, `warned`
and `clocks`; `places` knows the user's lines that these are called from.
"""
