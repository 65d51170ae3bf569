"""What is known before a run and what is learnt from it: skills and memory."""
