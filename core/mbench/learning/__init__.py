"""Whether frameworks learn alike, and how fast: tasks, their runs, verdicts and reports."""
