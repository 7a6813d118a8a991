"""The documentation: pages, and in `building/` what makes the site of them."""
