"""Formats numbers, marks, sentences, and lines of them."""
