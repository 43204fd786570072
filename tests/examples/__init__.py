"""The example applications, run as processes of this machine."""
