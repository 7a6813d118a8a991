"""Parts of `scipy.ndimage` for traced values: splines through samples (`splines`), and what moves images by them
(`moving`); windows of shapes (`shapes`): erosions, dilations, ranks."""
