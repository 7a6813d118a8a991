"""The site: `make docs`, or `python -m docs.building`. It needs the extra `docs`.

The pages are copied to build/docs/source (`staging`), their code is run (`running`) and what it prints is written below
it; the reference (`reference`), the pages of errors (`errors`) and the pictures of the benchmarks (`speed`) are
generated beside them, and Sphinx makes build/docs/html of all that with the settings of `conf.py`.
The copy has the repository's folders, so that links between files are the same in both places.
"""
