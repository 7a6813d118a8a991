"""`scipy.ndimage` for traced values: filters, windows of shapes, and images moved by splines of order 0 to 5.

Without traced values they are SciPy's own functions, as are names that are not here. Arrays of integers and
float32 are filtered in float64, and the result has the dtype of the input (or `output`, a dtype or an array).
"""

from tracejit.scipy.imaging import called as _called
from tracejit.scipy.imaging import filters as _filters
from tracejit.scipy.imaging import measures as _measures
from tracejit.scipy.imaging import moving as _moving
from tracejit.scipy.imaging import shapes as _shapes
from tracejit.scipy.imaging.called import *  # noqa: F403
from tracejit.scipy.imaging.filters import *  # noqa: F403
from tracejit.scipy.imaging.measures import *  # noqa: F403
from tracejit.scipy.imaging.moving import *  # noqa: F403
from tracejit.scipy.imaging.shapes import *  # noqa: F403
from tracejit.scipy.written import regions as _regions

__all__: list[str] = []
__all__ += _called.__all__
__all__ += _filters.__all__
__all__ += _measures.__all__
__all__ += _moving.__all__
__all__ += _shapes.__all__

_filters.PART.written("_measurements._ni_label", _regions._label)
_filters.PART.written("_morphology._nd_image", _regions.euclidean_feature_transform)

__getattr__, __dir__ = _filters.PART.others(__all__)
