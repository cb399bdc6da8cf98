"""Many runs as a static site, and whether a run may be published on one."""
