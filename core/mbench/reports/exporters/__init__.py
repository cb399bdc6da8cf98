"""Where a run's numbers go besides its report: other tools' stores."""
