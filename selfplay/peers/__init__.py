"""This project beside other trainers, on the same game. Their programs run in virtual environments of their own."""
