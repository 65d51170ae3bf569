"""The model service: one question, one answer, and what it cost. Only `service` knows the vendor's library."""
