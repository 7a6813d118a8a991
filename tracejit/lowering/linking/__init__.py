"""Machine code that was made before, without LLVM, whose library takes longer to load than a program does.

In comes a relocatable object as bytes, and out go the addresses of its functions in this process (`elf`). `processor`
says what the processor can do: by that code which another process has made is known to run here."""
