"""From runs of many nodes to verdicts on each: which is slow, wrong, missing, or not comparable."""
