"""Arrays that functions read by name while an eager transformation runs them: the user's memory, seen as traced code
may use it. Read `array`."""
