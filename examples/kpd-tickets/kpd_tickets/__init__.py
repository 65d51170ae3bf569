"""A scheduler whose queue is a folder of tickets, and the transport that lets kpd work through it."""
