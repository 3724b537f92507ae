"""What a rebuild will do and cost, before anything is paid."""

from raptor_core.rebuild.plan import plan_rebuild
from raptor_core.rebuild.values import LayerPlan, RebuildPlan, TreePlan

__all__ = ["LayerPlan", "RebuildPlan", "TreePlan", "plan_rebuild"]
