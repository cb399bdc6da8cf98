"""mbench's models as OpenVINO graphs, one module a family."""
