"""Programs to be run by hand."""
