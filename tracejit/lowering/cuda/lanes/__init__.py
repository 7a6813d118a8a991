"""Statements over the same lanes become one loop over the lanes, decided on the loop IR of a device.

A loop of many steps whose body is loops over the same 100,000 lanes (a scan of arrays, what vmap makes of a scan) would
be as many launches as it has steps. If lane i of every statement depends on lane i only, one loop over the lanes takes
the place of all: its body runs all steps for one lane, with the carry in registers. Loops that only follow one another
become one as well.

    for t in range(64):                         for i in range(100000):      # a thread each
        for i in range(100000):                     slot = c[i]
            c[i] = c[i] * x[t * 100000 + i]  ->     for t in range(64):
                                                        slot = slot * x[t * 100000 + i]
                                                    c[i] = slot

Read `gather` first, which finds such statements; `group` sees whether lanes are independent, by the forms of indices
(`loops.forms`) and by `owners` of memory; `interchange` writes the loop, `promote` its registers. `scatter` is about
loops that write at places which they read: there the threads share the places (`places` sees which), not the
iterations; `segments` sorts long ones. `checks` puts the checks of a loop before it, and `apart` makes a loop for
each array of one that writes several. `ahead` lets the steps of lanes load what later ones read.
"""
