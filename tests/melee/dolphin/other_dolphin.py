"""Another emulator: written from what is known of Slippi Dolphin alone, and as free as that leaves it.

Run as ``other_dolphin.py CHOICES -e DISC -u FOLDER``. CHOICES is a JSON object that overrides ``DEFAULTS``, each of
which is something that a build may do one way or another. The game behind it is a toy: a fighter moves as the main
stick says and loses a stock where the stage ends. Nothing is shared with the project's own stand-in.
"""

import base64
import configparser
import itertools
import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

DEFAULTS = {
    "answer": ["mainline ExiAI 1.0", "", 0],  # to --version: stdout, stderr, exit code
    "pipes": "late",  # opened "late", after somebody has connected, or "early": waits for a writer before the port
    "boot_s": 0.0,  # between the port and the first menu
    "noise": 0,  # bytes on stdout and on stderr
    "child": "",  # a program that it starts and leaves alone
    "title": False,  # shows the title screen first
    "first_number": 0,  # of the first frame of a screen
    "number_step": 1,
    "cursor": [0.0, 0.0],  # where all cursors begin
    "speed": 1.2,  # of a cursor
    "banner": 0,  # frames until those who are ready may start
    "deaf": 0,  # frames for which the stages take no input
    "loading_s": 0.0,  # of silence before a game
    "silent_flushes": 0,  # waits for so many inputs after a game without a word
    "after_end": 0,  # menu frames of no known screen after a game
    "results": 60,  # frames for which the results ignore START; None: there are none; "again": the next game begins
    "pause": "lras",  # "clocked": reads inputs by the clock, "running": frames go on, "bare": quits without one, "none"
    "quit_s": 0.0,  # of silence after a game that was quit
    "start_flushes": 1,  # inputs that it takes between the start of a game and the first frame
    "free_frames": 0,  # that it plays at the start of a game without any input
    "latency": [0, 0, 0, 0],  # frames that an input always takes longer, by port
    "merges": False,  # reads all that waits in a pipe as one input, as the source of Dolphin does
    "shows_countdown": True,  # inputs before frame 0
    "one_message": False,  # the start comes with the first frame
    "cut": False,  # the events before and after a frame are different messages
    "gecko": False,  # sends a list of codes
    "items": False,
    "chatter": False,  # messages of other kinds, and empty ones
    "menu_in_game": False,  # menus come as events of a game, after it
    "version": [3, 18, 0],
    "rules": {},  # of a game, where they are not those of tournaments
    "longer": 0,  # unknown bytes at the end of events
    "leaves": False,  # says end_game and disconnects when its pipes are closed
}  # fmt: skip
ARGUMENTS = sys.argv[1:]
CHOSEN = {**DEFAULTS, **json.loads(ARGUMENTS[0])}
if "--version" in ARGUMENTS:
    sys.stdout.write(CHOSEN["answer"][0])
    sys.stderr.write(CHOSEN["answer"][1])
    sys.exit(CHOSEN["answer"][2])

import enet  # noqa: E402 # only now: the answer comes at once
from other_game import Game  # noqa: E402

HOME = Path(ARGUMENTS[ARGUMENTS.index("-u") + 1])
ICONS = {
    0x1F: (1, -9), 0x20: (6.7, -9), 0x1C: (12.5, -9), 0x03: (15, 3.5), 0x08: (3.5, 15.5), 0x02: (10, 15.5),
}  # fmt: skip
BITS = {"A": 0x100, "B": 0x200, "X": 0x400, "Y": 0x800, "Z": 0x10, "L": 0x40, "R": 0x20, "START": 0x1000, "D_UP": 8}


class Pad:
    """A pipe and what its controller holds."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY | (0 if CHOSEN["pipes"] == "early" else os.O_NONBLOCK))
        self.lines, self.held, self.before, self.main, self.seen = b"", set(), set(), (0.0, 0.0), False
        self.shown = [(0.0, 0.0, 0)] * (CHOSEN["latency"][int(path.name[-1]) - 1] + 1)

    def read(self):
        """Obey up to a FLUSH; whether there was one. The end of the pipe is the end of everything."""
        while True:
            line, newline, rest = self.lines.partition(b"\n")
            if newline:
                self.lines = rest
                if line == b"FLUSH":
                    return True
                self.obey(line.decode().split())
                continue
            if not select.select([self.fd], [], [], 0)[0]:
                return False
            data = os.read(self.fd, 4096)
            if not data:
                if self.seen:
                    leave()
                return False
            self.seen, self.lines = True, self.lines + data

    def obey(self, words):
        if words[0] == "PRESS":
            self.held.add(words[1])
        elif words[0] == "RELEASE":
            self.held.discard(words[1])
        elif words[:2] == ["SET", "MAIN"]:
            self.main = tuple(max(-80, min(80, int((float(v) - 0.5) * 254 // 1))) / 80 for v in words[2:])
            self.main = tuple(0.0 if abs(v) < 23 / 80 else v for v in self.main)

    def new(self, button):
        return button in self.held and button not in self.before

    def tick(self):
        bits = sum(BITS.get(button, 0) for button in self.held)
        self.shown = [*self.shown[1:], (*self.main, bits)]


def leave():
    if CHOSEN["leaves"]:
        say({"type": "end_game", "dolphin_closed": True})
        for peer in PEERS:
            peer.disconnect()
        HOST.service(50)
    sys.exit(0)


def service():
    event = HOST.service(0)
    while event.type != enet.EVENT_TYPE_NONE:
        if event.type == enet.EVENT_TYPE_RECEIVE and b"connect_request" in event.packet.data:
            PEERS.append(event.peer)
            say({"type": "connect_reply", "nick": "other", "version": "1", "cursor": 0})
        event = HOST.service(0)


def say(message):
    for peer in PEERS:
        peer.send(0, enet.Packet(json.dumps(message).encode(), enet.PACKET_FLAG_RELIABLE))
    HOST.flush()


def events(data):
    say({"type": "game_event", "cursor": 0, "next_cursor": 1, "payload": base64.b64encode(data).decode()})


def rest(seconds):
    """Nothing happens, but the connection lives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        service()
        time.sleep(0.005)


def wait():
    """For a FLUSH of every pipe."""
    for pad in PADS.values():
        pad.before = set(pad.held)
    waiting = list(PADS.values())
    while waiting:
        here = waiting[:1] if CHOSEN["merges"] else waiting  # one after the other, or all at once
        if not (done := [pad for pad in here if pad.read()]):
            service()
            select.select([pad.fd for pad in here], [], [], 0.002)
        for pad in done:
            while CHOSEN["merges"] and pad.read():
                pass
            waiting.remove(pad)
    service()


def tick():
    """A sixtieth of a second in which nobody is waited for."""
    rest(1 / 60)
    for pad in PADS.values():
        pad.before = set(pad.held)
        while pad.read():
            pass


class Hand:
    """A port on the screen of characters."""

    def __init__(self, port):
        self.port, self.there = port, port in PADS
        self.x, self.y = CHOSEN["cursor"]
        self.coin, self.level, self.slider, self.cpu = None, 1, False, False

    def move(self, number):
        pad = PADS[self.port]
        if self.slider:
            if pad.new("A"):
                self.slider = False
            elif pad.main[0] and number % 5 == 0:
                self.level = max(1, min(9, self.level + (1 if pad.main[0] > 0 else -1)))
            return
        self.x = max(-40.0, min(40.0, self.x + CHOSEN["speed"] * pad.main[0]))
        self.y = max(-25.0, min(27.0, self.y + CHOSEN["speed"] * pad.main[1]))
        if pad.new("B"):
            self.coin = None
        elif pad.new("A"):
            if abs(self.x + 32 - 15.6 * self.port) < 3 and abs(self.y + 2.2) < 2:
                self.cpu = not self.cpu
            elif self.cpu and abs(self.x + 30.9 - 15.4 * self.port) < 3 and abs(self.y + 15.1) < 2:
                self.slider = True
            elif self.coin is None:
                self.coin = self.icon()

    def icon(self):
        row, column = 2 - int((self.y - 1) // 7), int((self.x + 32.5) // 7)
        column -= row == 2
        return row * 9 + column if 0 <= row < 3 and 0 <= column < (9 if row < 2 else 8) else None

    def character(self):
        shown = self.coin if self.coin is not None else self.icon() if self.there else None
        return 0xFF if shown is None else shown


def menu(scene, number, ready=False, cursor=(0.0, 0.0), submenu=0, selection=0):
    """Show a frame of a menu and wait."""
    data = bytearray(74)
    struct.pack_into(">BH", data, 0, 0x3E, scene)
    for i, hand in enumerate(HANDS):
        struct.pack_into(">ff", data, 3 + 8 * i, hand.x, hand.y)
        data[0x25 + i] = 3 if not hand.there else int(hand.cpu)
        data[0x29 + i], data[0x2D + i] = hand.character(), 2 if hand.coin is not None else 0
        data[0x41 + i], data[0x45 + i] = hand.level, hand.slider
    data[0x23] = 0 if ready else 1
    struct.pack_into(">ff", data, 0x31, *cursor)
    struct.pack_into(">iBB", data, 0x39, CHOSEN["first_number"] + CHOSEN["number_step"] * number, submenu, selection)
    text = base64.b64encode(data).decode()
    if CHOSEN["chatter"]:
        say({"type": "menu_event", "payload": ""})
    say({"type": "game_event" if CHOSEN["menu_in_game"] and GAMES else "menu_event", "payload": text})
    wait()


def anybody(button):
    return any(pad.new(button) for pad in PADS.values())


def title_and_main():
    number = itertools.count()
    while CHOSEN["title"] and not anybody("START"):
        menu(0x0000, next(number))
    submenu = selection = 0
    number = itertools.count()
    tilted = False
    while True:
        menu(0x0001, next(number), submenu=submenu, selection=selection)
        y = next((pad.main[1] for pad in PADS.values() if pad.main[1]), 0.0)
        if y and not tilted:
            selection = (selection + (1 if y < 0 else -1)) % 5
        tilted = bool(y)
        if anybody("A"):
            if submenu == 0 and selection == 1:
                submenu, selection = 2, 0
            elif submenu == 2 and selection == 0:
                return


def characters():
    ready = 0
    for number in itertools.count():
        playing = [hand for hand in HANDS if hand.there]
        all_set = all(hand.coin is not None and not hand.slider for hand in playing)
        ready = ready + 1 if all_set else 0
        menu(0x0002, number, ready=ready > CHOSEN["banner"])
        if ready > CHOSEN["banner"] and anybody("START"):
            return
        for hand in playing:
            hand.move(number)


def stages():
    """The number of the stage that the game has, and whether A was held behind it, by port."""
    x, y = CHOSEN["cursor"]
    chosen, left = None, 20
    for number in itertools.count():
        menu(0x0102, number, cursor=(x, y))
        if chosen is not None:
            left -= 1
            if left == 0:
                return chosen, {port: "A" in pad.held for port, pad in PADS.items()}
        elif number >= CHOSEN["deaf"]:
            pad = next((pad for pad in PADS.values() if pad.main != (0.0, 0.0)), None)
            if pad is not None:
                x, y = x + CHOSEN["speed"] * pad.main[0], y + CHOSEN["speed"] * pad.main[1]
            if anybody("A"):
                chosen = next((s for s, (at, up) in ICONS.items() if abs(x - at) < 2.5 and abs(y - up) < 2.5), None)
    return None


def play(game):
    """To its end; whether it was quit."""
    GAMES.append(game)
    say({"type": "start_game"} if CHOSEN["chatter"] else {"type": "start_game", "cursor": 0})
    opening = game.start()
    if not CHOSEN["one_message"]:
        events(opening)
        opening = b""
        for _ in range(CHOSEN["start_flushes"]):
            wait()
    paused = False
    for number in itertools.count(-123):
        head, tail = game.frame(number)
        if CHOSEN["chatter"] and number % 7 == 0:
            say({"type": "game_event", "cursor": 1, "payload": ""})
            say({"type": "weather", "sun": True})
        if CHOSEN["cut"]:
            events(opening + head)
            events(tail)
        else:
            events(opening + head + tail)
        opening = b""
        if game.over:
            break
        if number + 123 >= CHOSEN["free_frames"]:
            wait()
        while CHOSEN["pause"] != "none":
            if anybody("START") and any({"L", "R", "A"} <= pad.held for pad in PADS.values()):
                if paused or CHOSEN["pause"] == "bare":
                    return end(game, 7)
            elif anybody("START") and CHOSEN["pause"] != "bare":
                paused = not paused
            if not paused or CHOSEN["pause"] == "running":
                break
            (tick if CHOSEN["pause"] == "clocked" else wait)()
    return end(game, 2)


def end(game, method):
    events(game.event(0x39, (1, "B", method), (2, "b", 0 if method == 7 else -1)))
    say({"type": "end_game"})
    return method == 7


def after(quit_it):
    """From a game to the characters."""
    if quit_it:
        rest(CHOSEN["quit_s"])
    for _ in range(CHOSEN["silent_flushes"]):
        wait()
    for number in range(CHOSEN["after_end"]):
        menu(0x0302, number)
    if CHOSEN["results"] is not None and not quit_it:
        number = itertools.count()
        while (shown := next(number)) <= CHOSEN["results"] or not anybody("START"):
            menu(0x0402, shown)


signal.signal(signal.SIGTERM, signal.SIG_IGN)
INI = configparser.ConfigParser()
INI.read(HOME / "Config" / "Dolphin.ini")
PORT = int(INI.get("Slippi", "spectatorlocalport", fallback="0") or 0) or int(
    INI.get("Core", "slippispectatorlocalport", fallback="0")
)
for stream in (sys.stdout, sys.stderr):
    stream.write("noise\n" * (CHOSEN["noise"] // 6))
    stream.flush()
if CHOSEN["child"]:
    subprocess.Popen(["/bin/sh", "-c", CHOSEN["child"]], start_new_session=True)
PEERS, GAMES = [], []
PATHS = {int(path.name[-1]) - 1: path for path in sorted((HOME / "Pipes").iterdir())}
if CHOSEN["pipes"] == "early":
    PADS = {port: Pad(path) for port, path in PATHS.items()}
HOST = enet.Host(enet.Address(b"127.0.0.1", PORT), 4, 2, 0, 0)
while not PEERS:
    service()
    time.sleep(0.002)
if CHOSEN["pipes"] != "early":
    PADS = {port: Pad(path) for port, path in PATHS.items()}
HANDS = [Hand(port) for port in range(4)]
rest(CHOSEN["boot_s"])
title_and_main()
while True:
    characters()
    chosen = stages()
    rest(CHOSEN["loading_s"])
    quit_it = play(Game(CHOSEN, HANDS, PADS, *chosen))
    while CHOSEN["results"] == "again":
        quit_it = play(Game(CHOSEN, HANDS, PADS, *chosen))
    after(quit_it)
