"""Whether frameworks learn alike, and how soon: tasks, their runs, verdicts and reports."""
