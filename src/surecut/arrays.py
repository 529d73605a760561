"""Names for the array types that cross module borders."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
Float64: TypeAlias = npt.NDArray[np.float64]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]
UInt64: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Bool: TypeAlias = npt.NDArray[np.bool_]
Strings: TypeAlias = npt.NDArray[np.object_]
Array: TypeAlias = npt.NDArray[Any]
