"""What opens over the board: questions, the steering queue, texts, the palette."""
