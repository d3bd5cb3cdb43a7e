"""Runs named checks and prints one line for each: `ok NAME`, or `failed NAME: REASON`."""

import os
import sys
import traceback

_checks = []


def check(name):
    def register(run):
        _checks.append((name, run))
        return run

    return register


def connection_string():
    return os.environ["SDK_CONNECTION_STRING"]


def run_all():
    failures = 0
    for name, run in _checks:
        try:
            run()
            print(f"ok {name}", flush=True)
        except BaseException as error:  # an assertion, an error of the SDK, or its internal failure
            failures += 1
            print(f"failed {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)
            traceback.print_exc()
    sys.exit(1 if failures else 0)
