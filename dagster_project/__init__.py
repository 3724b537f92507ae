"""Code location of this repository; the packages beside it hold everything else."""
