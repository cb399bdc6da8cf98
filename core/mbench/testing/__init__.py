"""What every adapter must pass: `python -m pytest --pyargs mbench.testing --adapter NAME`.

It sends workers the same messages as `mbench compare`, so a framework is tested in the interpreter
in which it will be measured, and on the very step that will be timed.
"""
