"""Replay files as batches of examples for imitation learning. No torch.

library = Library(folder, frame_skip=4, delay=2, cache=folder / ".cache")
train, validation = split(library.scan(), seed)
for batch in windows(library, train, lanes=32, length=64, seed=seed, epoch=0): ...
"""
