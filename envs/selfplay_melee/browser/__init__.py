"""The mock in a browser: its rules as a WebAssembly module, and what a page needs to use it."""
