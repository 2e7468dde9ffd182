"""Objects whose attributes are a table: name to type and default."""

from __future__ import annotations

from typing import Any, ClassVar, Mapping

import numpy as np

_ALSO = {bool: (bool, np.bool_), int: (int, np.integer), str: (str,), float: (int, float)}


class Checked:
    """Unknown attributes are AttributeErrors and wrong types TypeErrors, at once."""

    fields: ClassVar[Mapping[str, tuple[type, Any]]] = {}

    def __init__(self) -> None:
        for name, (_, default) in self.fields.items():
            object.__setattr__(self, name, default)

    def __setattr__(self, name: str, value: Any) -> None:
        row = self.fields.get(name)
        if row is None:
            if not name.startswith("_") and not isinstance(
                    getattr(type(self), name, None), property):
                raise AttributeError(
                    f"{type(self).__name__} has no attribute '{name}'; it has "
                    + ", ".join(self.fields))
            object.__setattr__(self, name, value)
            return
        wanted = row[0]
        fits = isinstance(value, _ALSO.get(wanted, (wanted,)))
        if wanted is int and isinstance(value, (bool, np.bool_)):
            fits = True  # as everywhere in Python
        if not fits:
            raise TypeError(
                f"{type(self).__name__}.{name} is a {wanted.__name__}, not {value!r}")
        object.__setattr__(self, name, wanted(value) if wanted in (bool, int, str) else value)
