"""One module for each verb of the command line."""

import os

# Set before torch and numpy are loaded. Threads that wait sleep; those of numpy always spin, so there is only one.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
