"""Everything that shows a run: terminal, log, metrics file, TensorBoard, pages, pictures. No torch."""
