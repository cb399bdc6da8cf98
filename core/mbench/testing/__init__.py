"""What every adapter must pass: `python -m pytest --pyargs mbench.testing --adapter NAME`.

It speaks to workers in the messages that `mbench compare` uses, so a framework is tested in the
interpreter in which it will be measured, and on the very step that will be timed.
"""
