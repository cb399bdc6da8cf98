"""What `mbench new` writes: packages that work, of a made-up adapter and of a made-up model."""
