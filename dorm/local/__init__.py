"""What runs on this machine for Dorm: processes that Dorm itself starts, and finds binaries for."""
