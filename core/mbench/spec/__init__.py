"""What is going to be measured, before anything is: axes, cases, comparisons, protocols."""
