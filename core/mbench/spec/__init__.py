"""Describes what will be measured: axes, cases, comparisons, protocols."""
