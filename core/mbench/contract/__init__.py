"""What both sides share: the case, the adapter's interface and the messages."""
