"""Games. Imports numpy, numba, gymnasium and the standard library; never torch, asyncio or selfplay."""
