"""Plan of a rebuild: nodes, calls, tokens and cost, before anything is paid.

``plan`` makes it, ``expected_layers`` its layers; ``raptor_core.tree`` does the work.
"""

from raptor_core.rebuild.plan import plan_rebuild
from raptor_core.rebuild.values import LayerPlan, RebuildPlan, TreePlan

__all__ = ["LayerPlan", "RebuildPlan", "TreePlan", "plan_rebuild"]
