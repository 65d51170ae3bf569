"""What kpd's driver, a program on the host, checks and times: the same reports for every language it drives."""
