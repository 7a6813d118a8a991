"""Control flow and functions with rules of their own: ops whose params hold jaxprs."""
