"""Servers of pages, in a thread for the time of a test."""

import threading
from contextlib import contextmanager


@contextmanager
def served(server):
    """Serve requests until the block ends, then close."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
