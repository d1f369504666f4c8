"""What touches AWS: one adapter a file, named after its port, then its service."""
