"""The widgets: thin shells around pure functions of the view."""
