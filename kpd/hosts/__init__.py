"""Runs commands on hosts: one helper over any byte pipe, jobs that outlive the connection, a content store."""
