"""The rules of the fold: what each event changes. One function an event, grouped by noun."""
