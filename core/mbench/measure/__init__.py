"""How a case becomes numbers: environments, proofs, warm-up, rounds in fresh processes."""
