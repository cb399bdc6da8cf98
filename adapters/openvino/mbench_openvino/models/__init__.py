"""mbench's models as OpenVINO graphs, one file per family."""
