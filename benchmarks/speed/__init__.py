"""What the package costs in time and memory."""
