"""`dorm simulate`: the real decisions over virtual time, for any trace, cluster and policy."""
