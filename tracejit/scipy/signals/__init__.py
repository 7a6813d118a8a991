"""Parts of `scipy.signal` for traced values: filters (`filters`) and spectra of segments (`spectra`)."""
