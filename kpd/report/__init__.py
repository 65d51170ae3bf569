"""Makes a page of a run that can be sent around: one HTML file that needs no network."""
