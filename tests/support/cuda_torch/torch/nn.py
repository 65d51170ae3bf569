"""Parameters, which `torch` puts here."""
