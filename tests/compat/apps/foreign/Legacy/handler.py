# Somebody else's language: the worker in foreign-worker.mjs only pretends to run it.
