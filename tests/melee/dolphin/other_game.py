"""The toy behind ``other_dolphin``, as the events that a game of Slippi sends: see there."""

import struct

from melee import enums

CSS = [enums.to_internal(number) for number in range(26)]  # characters in the order of their screen
LONGER = (0x36, 0x38)  # events whose end may be unknown


def sizes_of(version):
    """Bytes behind the command byte, as the events grew."""
    return {
        0x36: 0x2F8 if version >= (3, 14) else 0x1A4,
        0x37: 0x42 if version >= (3, 17) else 0x40 if version >= (3, 15) else 0x3F,
        0x38: 0x54 if version >= (3, 16) else 0x50 if version >= (3, 11) else 0x4C,
        0x39: 6,
        0x3A: 0xC,
        0x3B: 0x2C,
        0x3C: 8,
        0x3D: 1200,
        0x10: 516,
    }


class Game:
    """A game of two, frame by frame."""

    def __init__(self, chosen, hands, pads, stage, held):
        self.chosen, self.hands, self.pads, self.version = chosen, hands, pads, tuple(chosen["version"])
        self.sizes = sizes_of(self.version)
        self.ports = [hand.port for hand in self.hands if hand.there]
        self.ids = {}
        for port in self.ports:
            character = CSS[self.hands[port].coin]
            if character is enums.Character.ZELDA and held.get(port):
                character = enums.Character.SHEIK
            self.ids[port] = character.value
        self.stage, self.x, self.stocks = stage, dict.fromkeys(self.ports, 0.0), dict.fromkeys(self.ports, 4)
        self.over = False

    def event(self, command, *values):
        """The bytes of an event: (offset, format, value) each, and the longer end that nobody knows."""
        data = bytearray(self.sizes[command] + 1 + (self.chosen["longer"] if command in LONGER else 0))
        data[0] = command
        for offset, code, value in values:
            struct.pack_into(f">{code}", data, offset, value)
        return bytes(data)

    def start(self):
        """The table of sizes, who plays where, and a list of codes."""
        table = [(c, s + (self.chosen["longer"] if c in LONGER else 0)) for c, s in self.sizes.items()]
        data = bytes([0x35, 1 + 3 * len(table)]) + b"".join(struct.pack(">BH", *row) for row in table)
        values = [(1 + i, "B", number) for i, number in enumerate(self.version)] + [(0x13, "H", self.stage)]
        rules = {"mode": 0x32, "stocks": 4, "timer": 480, "items": -1, "frozen": True} | self.chosen["rules"]
        values += [(5, "B", rules["mode"]), (0x10, "b", rules["items"]), (0x15, "I", rules["timer"])]
        values += [(0x1A2, "B", rules["frozen"])]
        for port in range(4):
            at = 0x65 + 0x24 * port
            kind = 3 if port not in self.ports else int(self.hands[port].cpu)
            values += [
                (at, "B", 2),
                (at + 1, "B", kind),
                (at + 2, "B", rules["stocks"]),
                (at + 0xF, "B", self.hands[port].level),
            ]
        data += self.event(0x36, *values)
        if self.chosen["gecko"]:
            parts = range(0, self.sizes[0x3D], 512)
            for at in parts:
                size, last = min(512, self.sizes[0x3D] - at), at == parts[-1]
                data += self.event(0x10, (0x201, "H", size), (0x203, "B", 0x3D), (0x204, "B", last))
        return data

    def frame(self, number):
        """The events before and after the fighters have moved."""
        head, tail = self.event(0x3A, (1, "i", number)), b""
        for port in self.ports:
            self.pads[port].tick()
            x, y, bits = self.pads[port].shown[0] if not self.hands[port].cpu else (0.0, 0.0, 0)
            if number < 0 and not self.chosen["shows_countdown"]:
                x, y, bits = 0.0, 0.0, 0
            who = ((1, "i", number), (5, "B", port))
            head += self.event(
                0x37, *who, (0x19, "f", x), (0x1D, "f", y), (0x2D, "I", bits), (0x31, "H", bits),
                (0x3B, "b", int(80 * x)),
            )  # fmt: skip
            if number > 0:
                self.x[port] += 4.0 * x
                if abs(self.x[port]) > 246.0:
                    self.x[port], self.stocks[port] = 0.0, self.stocks[port] - 1
            tail += self.event(
                0x38, *who, (7, "B", self.ids[port]), (8, "H", 14), (0xA, "f", self.x[port]), (0x12, "f", 1.0),
                (0x1A, "f", 60.0), (0x21, "B", self.stocks[port]), (0x22, "f", number % 60), (0x32, "B", 2),
            )  # fmt: skip
        if self.chosen["items"]:
            head += self.event(0x3B, (1, "i", number), (5, "H", 54), (0x14, "f", 3.0), (0x22, "I", 7))
        self.over = min(self.stocks.values()) <= 0
        return head, tail + self.event(0x3C, (1, "i", number), (5, "i", number))
