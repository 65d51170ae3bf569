"""What operators can do, each declared once; docs/architecture.md says how to add one."""
