"""How a case becomes numbers: plan, warm-up, interleaved rounds in fresh processes."""
