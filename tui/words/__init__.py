"""How things read: numbers, marks, sentences, and lines of them."""
