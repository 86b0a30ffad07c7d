"""Games. Imports numpy, numba, llvmlite, gymnasium and the standard library; never torch, asyncio or selfplay."""
