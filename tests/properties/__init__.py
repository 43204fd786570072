"""Properties of the pure part, over histories that hypothesis makes up."""
