"""What people type: subcommands about one function of a file, and the magic of IPython.

    python -m tracejit show|draw|bench FILE:FUNCTION --args '...'
    %load_ext tracejit, then %%tracejit above a cell

`targets.py` loads the function and its arguments, `commands.py` has the subcommands, `measuring.py` compares times,
`magic.py` is IPython's extension. Nothing here is imported before it is asked for.
"""
