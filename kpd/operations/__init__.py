"""Declares what operators can do, each operation once; docs/architecture.md says how to add one."""
