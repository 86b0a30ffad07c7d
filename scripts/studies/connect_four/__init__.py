"""Connect Four solved exactly, and players measured against that."""
