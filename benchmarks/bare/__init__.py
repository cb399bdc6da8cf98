"""What a careful user writes without mbench; the overhead is measured against these."""
