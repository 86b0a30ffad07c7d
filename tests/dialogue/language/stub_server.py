"""A server of replies for tests: SGLang's and OpenAI's formats, and whatever can go wrong with them.

In this process a ``Stub`` answers by a function that is given ids and gives a reply. Run as a program, as a server that
is started on a model folder, it loads no model: each reply is one token, the size of the file ``reply`` in the folder
that was loaded last. It takes weights as SGLang 0.5 and vLLM 0.33 do: their paths, bodies, statuses and messages.
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
ROUTES = ADAPTERS, DEVELOPMENT = "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "VLLM_SERVER_DEV_MODE"
HOST = "127.0.0.1"
CLOSE_S = 200.0  # at most, to answer the last request; as a program it cannot import other modules of tests


class Stub:
    """Serves from the constructor to ``close``.

    ``ruin`` is asked for each request, by its number from 0, what goes wrong with it: None, "500", "429", "400",
    "garbage", "list", "die" (the connection, without an answer), or a function that changes the answer.
    ``rank`` is the largest of an adapter; 0: no adapters. Unless it ``follows``, it has no routes for weights.
    """

    def __init__(self, kind, answer, ruin=lambda number: None, logprobs=True, limit=None, rank=0, follows=True):
        self.kind, self.answer, self.ruin, self.logprobs, self.limit = kind, answer, ruin, logprobs, limit
        self.weights = (Sglang if kind == SGLANG else Vllm)("start", rank, ROUTES if follows else ())
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

    def write(self, asked, body):
        del body
        return self.answer(asked)

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
            return self.send({"model_path": stub.weights.folder})
        if self.path == "/v1/models" and stub.kind != SGLANG:
            return self.send({"data": [{"id": "m", "max_model_len": stub.limit}]})
        return self.send({"detail": "Not Found"}, 404)

    def do_POST(self):
        stub = self.owner
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if (done := stub.weights.take(self.path, body)) is not None:
            return self.send(*done)
        if self.path != {SGLANG: "/generate", CHAT: "/v1/chat/completions"}.get(stub.kind, "/v1/completions"):
            return self.send({"detail": "Not Found"}, 404)
        if (refused := stub.weights.refused(body)) is not None:
            return self.send(*refused)
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
            reply = stub.write(asked, body)
        logprobs = [0.0 if math.isnan(one) else one for one in reply.logprob] if stub.logprobs else None
        form = {SGLANG: generated, CHAT: chatted}.get(stub.kind, completion)
        document = form(stub, reply.text, reply.ids, logprobs, reply.ended)
        return self.send(trouble(document) if callable(trouble) else document)

    def send(self, document, code=200):
        return self.send_bytes(document if isinstance(document, bytes) else json.dumps(document).encode(), code)

    def send_bytes(self, data, code=200):
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)


class _Weights:
    """What a server has loaded; ``calls`` are those that it took and those that it refused."""

    def __init__(self, folder, rank, routes):
        self.folder, self.rank, self.allowed = folder, rank, routes
        self.locked = False  # to all but those who have another key
        self.adapters = {}
        self.calls = []
        self.size = self.size_of(folder)

    def take(self, path, body):
        """(document, status) of a request for weights; None for others."""
        answer = self.routes().get(path)
        if answer is None or not self.allowed:
            return None
        if self.locked:
            return {"error": "Unauthorized"}, 401
        self.calls.append((path, body))
        return answer(body)

    def size_of(self, folder):
        """Of the reply that a model gives, as it is when the folder is read."""
        place = Path(folder) / "reply"
        return place.stat().st_size if place.is_file() else 0

    def wrong(self, body):
        """Why an adapter cannot be loaded."""
        config = Path(body["lora_path"]) / "adapter_config.json"
        if not config.is_file():
            return "no adapter_config.json"
        rank = json.loads(config.read_text())["r"]
        return f"rank {rank} is greater than max_lora_rank {self.rank}" if rank > self.rank else None

    def add(self, body):
        self.adapters[body["lora_name"]] = self.size_of(body["lora_path"])


class Sglang(_Weights):
    """Adapters need ``--enable-lora``."""

    def routes(self):
        return {
            "/update_weights_from_disk": self.update,
            "/load_lora_adapter": self.load,
            "/unload_lora_adapter": self.unload,
        }

    def update(self, body):
        if "model_path" not in body:
            return {"detail": [{"loc": ["body", "model_path"], "msg": "Field required"}]}, 422
        if not Path(body["model_path"]).is_dir():
            return {"success": False, "message": "no such folder", "num_paused_requests": None}, 400
        self.folder, self.size = body["model_path"], self.size_of(body["model_path"])
        return {"success": True, "message": "Succeeded to update model weights.", "num_paused_requests": 0}, 200

    def load(self, body):
        name = body["lora_name"]
        if not self.rank:
            return self.no("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.")
        if name in self.adapters:
            return self.no(f"Failed to load LoRA adapter {name} because it is already loaded")
        if (why := self.wrong(body)) is not None:
            return self.no(why)
        self.add(body)
        return self.done()

    def unload(self, body):
        if not self.rank:
            return self.no("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.")
        if self.adapters.pop(body["lora_name"], None) is None:
            return self.no(f"LoRA with name {body['lora_name']} does not exist.")
        return self.done()

    def no(self, why):
        return {"success": False, "error_message": why, "loaded_adapters": None}, 400

    def done(self):
        return {"success": True, "error_message": None, "loaded_adapters": dict.fromkeys(self.adapters, "")}, 200

    def refused(self, body):
        name = body.get("lora_path")
        if name is None or name in self.adapters:
            return None
        return {"error": {"message": f"The following requested LoRA adapters are not loaded: {name}\n"}}, 400


class Vllm(_Weights):
    """Routes exist only if variables of the environment are set; adapters need ``--enable-lora``, too."""

    def routes(self):
        found = {}
        if ADAPTERS in self.allowed:
            found |= {"/v1/load_lora_adapter": self.load, "/v1/unload_lora_adapter": self.unload}
        if DEVELOPMENT in self.allowed:
            found |= {"/collective_rpc": self.call, "/reset_prefix_cache": lambda body: ({"success": True}, 200)}
        return found

    def load(self, body):
        name = body["lora_name"]
        if name in self.adapters:
            return self.no(400, f"The lora adapter '{name}' has already been loaded.")
        if not self.rank:
            return self.no(500, "Call to add_lora method failed: LoRA is not enabled.")
        if (why := self.wrong(body)) is not None:
            return self.no(500, why)
        self.add(body)
        return f"Success: LoRA adapter '{name}' added successfully.".encode(), 200

    def unload(self, body):
        name = body["lora_name"]
        if self.adapters.pop(name, None) is None:
            return self.no(404, f"The lora adapter '{name}' cannot be found.")
        return f"Success: LoRA adapter '{name}' removed successfully.".encode(), 200

    def call(self, body):
        if body.get("method") is None:
            return {"detail": "Missing 'method' in request body"}, 400
        if body["method"] != "reload_weights" or (Path(self.folder) / "unreadable").exists():
            return self.no(500, "Call to collective_rpc method failed")
        self.size = self.size_of(self.folder)
        return {"results": [None]}, 200

    def no(self, code, why):
        return {"error": {"message": why, "type": "BadRequestError", "param": None, "code": code}}, code

    def refused(self, body):
        name = body.get("model")
        if name in ("m", "selfplay", *self.adapters):
            return None
        return self.no(404, f"The model `{name}` does not exist.")


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
    parser.add_argument("--old", action="store_true")  # a version without routes for weights
    parser.add_argument("--enable-lora", action="store_true")
    parser.add_argument("--max-lora-rank", type=int, default=16)
    parser.add_argument("--lora-target-modules", nargs="*")
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
        kind, limit, logprobs, bodies, probes = given.kind, None, True, [], 0
        at_once = most_at_once = 0
        lock, model_lock = threading.Lock(), threading.Lock()
        rank = given.max_lora_rank if given.enable_lora else 0
        routes = tuple(name for name in ROUTES if given.kind == SGLANG or os.environ.get(name) == "1")
        weights = (Sglang if given.kind == SGLANG else Vllm)(given.folder, rank, () if given.old else routes)

        def ruin(self, number):
            del number

        def write(self, asked, body):
            del asked
            size = self.weights.adapters.get(body.get("lora_path") or body.get("model"), self.weights.size)
            return argparse.Namespace(text="", ids=[size], logprob=[-0.25], ended=False)

    Handler.owner = Scripted()
    _Server((HOST, given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
