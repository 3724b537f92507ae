"""Figures in words."""

from __future__ import annotations

from raptor_core.evaluation.bootstrap import Interval


def told_interval(figure: Interval, sign: str = "") -> str:
    """A figure with its interval, such as "0.635 [0.581, 0.690]"; empty where it is undefined.

    ``sign`` "+" writes the sign of what is positive, too.
    """
    if figure.value is None:
        return ""
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"
