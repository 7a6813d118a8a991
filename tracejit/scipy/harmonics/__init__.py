"""Legendre functions and spherical harmonics of `scipy.special`. Read `spherical.py`."""
