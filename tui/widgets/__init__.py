"""Widgets: thin wrappers around pure functions of the view."""
