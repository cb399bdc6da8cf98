"""Which framework runs this model faster here, by how much, and how sure are we?"""

__version__ = "0.1.0"
