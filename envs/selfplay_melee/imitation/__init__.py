"""Recordings of the mock, and the policy that a run starts from."""
