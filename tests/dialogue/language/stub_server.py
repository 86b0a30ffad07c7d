"""A server of replies for tests: SGLang's and OpenAI's formats, and whatever can go wrong with them.

In this process a ``Stub`` answers by a function that is given ids and gives a reply. Run as a program, as a server that
is started on a model folder, it loads no model: each reply is one token, the size of the file ``reply`` in the folder.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SGLANG, VLLM, TEXT, CHAT = "sglang", "vllm", "text", "chat"
HOST = "127.0.0.1"
CLOSE_S = 200.0  # at most, to answer the last request; as a program it cannot import other modules of tests


class Stub:
    """Serves from the constructor to ``close``.

    ``ruin`` is asked for each request, by its number from 0, what goes wrong with it: None, "500", "429", "400",
    "garbage", "list", "die" (the connection, without an answer), or a function that changes the answer.
    """

    def __init__(self, kind, answer, ruin=lambda number: None, logprobs=True, limit=None):
        self.kind, self.answer, self.ruin, self.logprobs, self.limit = kind, answer, ruin, logprobs, limit
        self.folder = "start"
        self.loaded = []
        self.bodies = []  # of requests for replies
        self.probes = 0
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.model_lock = threading.Lock()
        stub = self

        class Handler(_Handler):
            owner = stub

        self.server = _Server((HOST, 0), Handler)
        self.server.daemon_threads = False
        self.url = f"http://{HOST}:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join(CLOSE_S)
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # of connections; the usual 5 are overrun by 64 callers at once, and some are reset


class _Handler(BaseHTTPRequestHandler):
    owner: Stub
    protocol_version = "HTTP/1.1"
    timeout = 5  # as long as servers usually keep a connection that nobody uses

    def log_message(self, *_):
        pass

    def do_GET(self):
        stub = self.owner
        if self.path == "/health":
            return self.send({})
        if self.path == "/get_model_info" and stub.kind == SGLANG:
            return self.send({"model_path": stub.folder})
        if self.path == "/v1/models" and stub.kind != SGLANG:
            return self.send({"data": [{"id": "m", "max_model_len": stub.limit}]})
        return self.send({"error": "unknown"}, 404)

    def do_POST(self):
        stub = self.owner
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/update_weights_from_disk":
            fine = Path(body["model_path"]).is_dir()
            if fine:
                stub.folder = body["model_path"]
                stub.loaded.append(stub.folder)
            return self.send({"success": fine, "message": "loaded" if fine else "no such folder"})
        if self.path != {SGLANG: "/generate", CHAT: "/v1/chat/completions"}.get(stub.kind, "/v1/completions"):
            return self.send({"error": "unknown"}, 404)
        if body.get("max_tokens") == 1:  # somebody wants to know who we are
            stub.probes += 1
            return self.send(completion(stub, "", [1], [-0.5], ended=False))
        with stub.lock:
            number = len(stub.bodies)
            stub.bodies.append(body)
            stub.at_once += 1
            stub.most_at_once = max(stub.most_at_once, stub.at_once)
        try:
            return self.reply(number, body)
        finally:
            with stub.lock:
                stub.at_once -= 1

    def reply(self, number, body):
        stub, trouble = self.owner, self.owner.ruin(number)
        if trouble in ("500", "429", "400"):
            return self.send({"error": "no\nluck"}, int(trouble))
        if trouble == "die":
            self.close_connection = True
            return None
        if trouble in ("garbage", "list"):
            return self.send_bytes(b"<html>__import__('os')</html>" if trouble == "garbage" else b"[1, 2]")
        asked = body["messages"] if stub.kind == CHAT else body["input_ids" if stub.kind == SGLANG else "prompt"]
        with stub.model_lock:
            reply = stub.answer(asked)
        logprobs = [0.0 if math.isnan(one) else one for one in reply.logprob] if stub.logprobs else None
        form = {SGLANG: generated, CHAT: chatted}.get(stub.kind, completion)
        document = form(stub, reply.text, reply.ids, logprobs, reply.ended)
        return self.send(trouble(document) if callable(trouble) else document)

    def send(self, document, code=200):
        return self.send_bytes(json.dumps(document).encode(), code)

    def send_bytes(self, data, code=200):
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)


def generated(stub, text, ids, logprobs, ended):
    del stub
    reason = {"type": "stop", "matched": ids[-1]} if ended else {"type": "length", "length": len(ids)}
    meta = {"finish_reason": reason, "prompt_tokens": 3, "completion_tokens": len(ids)}
    if logprobs is not None:
        meta["output_token_logprobs"] = [[logprob, one, None] for logprob, one in zip(logprobs, ids, strict=True)]
    return {"text": text, "output_ids": ids, "meta_info": meta}


def completion(stub, text, ids, logprobs, ended):
    choice = {"index": 0, "text": text, "finish_reason": "stop" if ended else "length", "logprobs": None}
    if stub.kind == VLLM:
        choice["token_ids"] = ids
        if logprobs is not None:
            choice["logprobs"] = {"tokens": ["?"] * len(ids), "token_logprobs": logprobs}
    return {"choices": [choice]}


def chatted(stub, text, ids, logprobs, ended):
    del stub, ids, logprobs
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop" if ended else "length"}]}


def main():
    """A server program: with a child of its own that would live on, and a log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("port", type=int)
    parser.add_argument("--kind", default=SGLANG)
    parser.add_argument("--fail", action="store_true")
    parser.add_argument("--never-ready", action="store_true")
    given = parser.parse_args()
    if given.fail:
        sys.exit("out of memory")
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    sys.stdout.write(f"serving {given.folder} {os.getpid()} {child.pid}\n")
    sys.stdout.flush()
    if given.never_ready or (Path(given.folder) / "slow").exists():
        child.wait(600)

    class Handler(_Handler):
        owner = None

    class Scripted:
        kind, limit, logprobs, folder, loaded, bodies, probes = given.kind, None, True, given.folder, [], [], 0
        at_once = most_at_once = 0
        lock, model_lock = threading.Lock(), threading.Lock()

        def ruin(self, number):
            del number

        def answer(self, asked):
            del asked
            size = (Path(self.folder) / "reply").stat().st_size
            return argparse.Namespace(text="", ids=[size], logprob=[-0.25], ended=True)

    Handler.owner = Scripted()
    _Server((HOST, given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
