"""What training itself shows: the order in which sizes are learned, and the two phases."""
