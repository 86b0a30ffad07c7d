from typing import Final

PROCESS_MB: Final = 4096  # for the process of a block of games; 160 MB were seen, 600 MB while it compiled the rules
