"""What model calls cost: prices, the budget of a run and what it spent, estimates beforehand."""
