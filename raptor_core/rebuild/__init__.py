"""Prediction of what a rebuild changes and costs, before anything is paid.

``plan`` makes the plan of each tree, ``expected_layers`` that of its layers. Building itself is in
``raptor_core.tree``.
"""

from raptor_core.rebuild.plan import plan_rebuild
from raptor_core.rebuild.values import LayerPlan, RebuildPlan, TreePlan

__all__ = ["LayerPlan", "RebuildPlan", "TreePlan", "plan_rebuild"]
