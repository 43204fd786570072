"""Set-up, local processes and the local cluster."""
