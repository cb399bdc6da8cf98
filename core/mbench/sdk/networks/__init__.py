"""Models as functions of a `Net`, for frameworks whose layers are functions or nodes of a graph."""
