"""The primitives, one file a family; importing this package fills the registry."""

from tracejit.ops import arithmetic, compare, create, cumulative, reduce, transcendental

from tracejit.ops import concat, shape, index, linalg, sort  # isort: skip
