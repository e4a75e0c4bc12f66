"""The lease engine under elections and locks: who holds a name, until when, under which term.

It knows no HTTP, no Redis and no product word. Its promises are G1 to G10 of `docs/guarantees.md`.
"""
