"""What the machine does while blocks are timed, sampled outside the timed process."""
