"""Dialogs over the main screen: questions, the steering queue, texts, the palette."""
