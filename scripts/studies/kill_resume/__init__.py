"""Kill-and-resume test: training runs are killed (SIGKILL) again and again, resumed, and checked."""
