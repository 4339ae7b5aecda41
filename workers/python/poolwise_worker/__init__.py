"""The Python worker of poolwise: runs one task over the items it is handed.

It uses the standard library alone, and as little of it as it can: every import
is start-up time of every worker. All it needs is imported before the user's
folder enters sys.path, so that a user's json.py or types.py cannot take the
place of a module that the worker relies on.

The protocol is described in docs/protocol.md.
"""
