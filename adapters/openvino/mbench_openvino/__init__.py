"""OpenVINO's adapter for mbench."""
