"""What follows from other formulas of a distribution: quantiles of reals (`reals`) and of whole numbers (`whole`, which
has sums of probabilities, too), and areas below a density (`areas`)."""
