"""Changes a production program on its host and gets it back: projects, and the places that kpd may change."""
