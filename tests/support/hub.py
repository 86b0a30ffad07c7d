"""A stand-in for the Hugging Face Hub: what ``huggingface_hub`` asks to upload, list and download models, over HTTP."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

USER = "tester"
TOKEN = "hf_" + "x" * 30
LFS_FROM = 4096  # bytes; smaller files are part of the commit
REPO = r"/(?P<repo>[\w.-]+/[\w.-]+)"


@dataclass
class Repo:
    private: bool = False
    files: dict = field(default_factory=dict)  # content by name
    commits: dict = field(default_factory=dict)  # files by commit

    @property
    def sha(self):
        return list(self.commits)[-1]

    def at(self, revision):
        """The commit and the files of a revision; None if there is none."""
        sha = self.sha if revision == "main" else revision
        return (sha, self.commits[sha]) if sha in self.commits else None


@dataclass
class Hub:
    """All repositories; ``asked`` lists the requests."""

    url: str = ""
    repos: dict = field(default_factory=dict)
    objects: dict = field(default_factory=dict)  # of Git LFS, by sha256
    asked: list = field(default_factory=list)

    def commit(self, name, files):
        """Add files to a repository, which is made if it does not exist."""
        repo = self.repos.setdefault(name, Repo())
        repo.files |= files
        text = repr(sorted((path, hashlib.sha256(data).hexdigest()) for path, data in repo.files.items()))
        sha = hashlib.sha1(f"{len(repo.commits)}{text}".encode()).hexdigest()
        repo.commits[sha] = dict(repo.files)
        return sha


@contextmanager
def hub():
    """A running stand-in."""
    made = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": made}))
    server.daemon_threads = True
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, name="hub")
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._route()

    do_HEAD = do_POST = do_PUT = do_GET

    def _route(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        for method, pattern, name in ROUTES:
            found = re.fullmatch(pattern, path)
            if found and (self.command == method or (method, self.command) == ("GET", "HEAD")):
                return getattr(self, name)(**found.groupdict())
        return self._json({"error": f"the stand-in has no {self.command} {path}"}, 501)

    def _json(self, document, status=200, **headers):
        self._send(json.dumps(document).encode(), status, **{"Content-Type": "application/json", **headers})

    def _send(self, data, status=200, **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(data)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _missing(self, code, status=404):
        self._json({"error": code}, status, **{"X-Error-Code": code})

    @property
    def _is_user(self):
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def whoami(self):
        if not self._is_user:
            return self._json({"error": "Invalid username or password."}, 401)
        return self._json({"type": "user", "name": USER, "orgs": [], "auth": {}})

    def create(self):
        asked = json.loads(self.body)
        name = f"{asked.get('organization') or USER}/{asked['name']}"
        if not self._is_user:
            return self._json({"error": "unauthorized"}, 401)
        if name in self.hub.repos:
            return self._json({"error": "You already created this model repo", "url": f"{self.hub.url}/{name}"}, 409)
        self.hub.repos[name] = Repo(private=bool(asked.get("private") or asked.get("visibility") == "private"))
        return self._json({"url": f"{self.hub.url}/{name}", "name": name, "id": name})

    def validate(self):
        self._json({"errors": [], "warnings": []})

    def preupload(self, repo, revision):
        del repo, revision
        files = json.loads(self.body)["files"]
        modes = [
            {
                "path": file["path"], "shouldIgnore": False,
                "uploadMode": "lfs" if file["size"] >= LFS_FROM or file["path"].endswith(".safetensors") else "regular",
            }
            for file in files
        ]  # fmt: skip
        self._json({"files": modes})

    def lfs_batch(self, repo):
        del repo
        objects = [
            {**each, "actions": {"upload": {"href": f"{self.hub.url}/lfs/{each['oid']}", "header": {}}}}
            for each in json.loads(self.body)["objects"]
        ]
        self._json({"transfer": "basic", "objects": objects}, **{"Content-Type": "application/vnd.git-lfs+json"})

    def lfs_put(self, oid):
        if hashlib.sha256(self.body).hexdigest() != oid:
            return self._json({"error": "wrong sha256"}, 400)
        self.hub.objects[oid] = self.body
        return self._send(b"")

    def commit(self, repo, revision):
        del revision
        if not self._is_user or repo not in self.hub.repos:
            return self._missing("RepoNotFound")
        files = {}
        for line in filter(None, self.body.splitlines()):
            row = json.loads(line)
            if row["key"] == "file":
                files[row["value"]["path"]] = base64.b64decode(row["value"]["content"])
            elif row["key"] == "lfsFile":
                files[row["value"]["path"]] = self.hub.objects[row["value"]["oid"]]
        sha = self.hub.commit(repo, files)
        return self._json({"success": True, "commitOid": sha, "commitUrl": f"{self.hub.url}/{repo}/commit/{sha}"})

    def _found(self, repo, revision):
        there = self.hub.repos.get(repo)
        if there is None or not there.commits or (there.private and not self._is_user):
            self._missing("RepoNotFound", 401)
            return None
        found = there.at(revision or "main")
        if found is None:
            self._missing("RevisionNotFound")
        return found

    def info(self, repo, revision=None):
        if (found := self._found(repo, revision)) is not None:
            sha, files = found
            siblings = [
                {"rfilename": name, "size": len(data), "blobId": hashlib.sha1(data).hexdigest()}
                for name, data in files.items()
            ]
            self._json({"id": repo, "modelId": repo, "sha": sha, "private": False, "siblings": siblings, "tags": []})

    def tree(self, repo, revision):
        if (found := self._found(repo, revision)) is not None:
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in found[1].items()
            ]
            self._json(rows)

    def resolve(self, repo, revision, file):
        if (found := self._found(repo, revision)) is None:
            return None
        sha, files = found
        if file not in files:
            return self._missing("EntryNotFound")
        data = files[file]
        begin = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        etag = {"X-Repo-Commit": sha, "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}
        if begin:
            part = data[int(begin[1]) : int(begin[2]) + 1 if begin[2] else None]
            where = f"bytes {begin[1]}-{int(begin[1]) + len(part) - 1}/{len(data)}"
            return self._send(part, 206, **etag, **{"Content-Range": where})
        return self._send(data, **etag)


ROUTES = (
    ("GET", "/api/whoami-v2", "whoami"),
    ("POST", "/api/repos/create", "create"),
    ("POST", "/api/validate-yaml", "validate"),
    ("POST", f"/api/models{REPO}/preupload/(?P<revision>.+)", "preupload"),
    ("POST", rf"{REPO}\.git/info/lfs/objects/batch", "lfs_batch"),
    ("PUT", "/lfs/(?P<oid>[0-9a-f]{64})", "lfs_put"),
    ("POST", f"/api/models{REPO}/commit/(?P<revision>.+)", "commit"),
    ("GET", f"/api/models{REPO}", "info"),
    ("GET", f"/api/models{REPO}/revision/(?P<revision>.+)", "info"),
    ("GET", f"/api/models{REPO}/tree/(?P<revision>[^/]+)", "tree"),
    ("GET", f"{REPO}/resolve/(?P<revision>[^/]+)/(?P<file>.+)", "resolve"),
)
