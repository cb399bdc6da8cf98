"""Where a run's numbers go beside its report: other tools' stores."""
