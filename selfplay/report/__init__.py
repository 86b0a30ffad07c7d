"""Everything that shows a run: terminal, log, metrics file, TensorBoard, pages, pictures. No torch.

header     lines(title, values) -> the configuration header
metrics    IterationReport (what one iteration was like), .flat() -> {"losses/policy": ..., ...}
reporter   Reporter (the protocol), Tee, Feed (a reporter that never blocks and is run as a supervised child)
plain      PlainReporter, terminal and log file: the lines of the guide
dashboard  DashboardReporter: the live view
files      MetricsReporter (metrics.jsonl), TensorBoardReporter (events/)
outputs    reporters(folder, stream, ...) -> all of them for one run
picture    draw_frame, write_gif: a fight as a GIF
"""
