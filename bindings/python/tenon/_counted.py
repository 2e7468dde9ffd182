"""Handles of the library that are destroyed in order: contexts, sessions, runtimes.

Garbage collection finalizes the objects of a cycle in any order, so an object may not rely on
those that it refers to in its __del__. Owners are counted instead; the last one destroys.
"""

from __future__ import annotations

import ctypes as c
from typing import Any, Callable


class Counted:
    """A handle with owners. `after` is released when it is destroyed, `keep` let go."""

    __slots__ = ("handle", "_destroy", "_others", "_after", "keep")

    def __init__(self, destroy: Callable[[c.c_void_p], None], after: Counted | None = None,
                 keep: Any = None):
        self.handle = c.c_void_p()
        self.keep = keep
        self._destroy, self._after = destroy, after
        self._others: list[None] = []  # one a further owner: append and pop are atomic
        if after is not None:
            after.retain()

    def retain(self) -> Counted:
        self._others.append(None)
        return self

    def release(self) -> None:
        try:
            self._others.pop()
        except IndexError:
            self._destroy(self.handle)
            if self._after is not None:
                self._after.release()
