#!/usr/bin/env python3
"""A cluster of 150,000 pods and the Prometheus that knows its past, as one server on loopback, to measure what
`evacuator advise requests` itself takes (docs/advise/requests.md):

  python3 test/bench/advise/serve_history.py 18181 &
  kubectl config --kubeconfig=/tmp/k set-cluster x --server=http://127.0.0.1:18181
  kubectl config --kubeconfig=/tmp/k set-context x --cluster=x && kubectl config --kubeconfig=/tmp/k use-context x
  /usr/bin/time -v evacuator advise requests --kubeconfig /tmp/k --prometheus http://127.0.0.1:18181 -o json >/dev/null
"""

import collections
import http.server
import json
import random
import re
import socketserver
import sys
import urllib.parse

WORKLOADS = 20_000
PODS = 150_000
NAMESPACES = 200
PAGE = 2_000
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
HASH = "7d4b9c6f5"


def pods():
    """(namespace, name) of every pod; those of a workload have its name."""
    numbers = random.Random(18)
    for i in range(PODS):
        workload = i % WORKLOADS
        suffix = "".join(numbers.choice(LETTERS) for _ in range(5))
        yield f"team-{workload % NAMESPACES:03}", f"app-{workload:05}-{HASH}-{suffix}"


ALL = list(pods())
SERIES = collections.defaultdict(list)  # by namespace: (pod, container)
for at, (space, pod) in enumerate(ALL):
    for container in ("app", "proxy") if at % 3 == 0 else ("app",):
        SERIES[space].append((pod, container))


def vector(rows):
    return ('{"status":"success","data":{"resultType":"vector","result":[' + ",".join(rows) + "]}}").encode()


def answer(query):
    if query.startswith("count by"):
        return vector(f'{{"metric":{{"namespace":"{space}"}},"value":[1,"{len(series)}"]}}'
                      for space, series in sorted(SERIES.items()))
    asked = re.search(r'namespace=~"([^"]*)"', query)
    every = 50 if "throttled" in query or "oom" in query else 1  # few are throttled or killed
    value = "288" if "count_over_time" in query else "0.2512345678901234" if "cpu" in query else "209715200"
    return vector(f'{{"metric":{{"container":"{name}","evacuator_series":"{pod}/{name}","namespace":"{space}",'
                  f'"pod":"{pod}"}},"value":[1795262400,"{value}"]}}'
                  for space in (asked.group(1).split("|") if asked else sorted(SERIES))
                  for pod, name in SERIES[space][::every])


def pod_json(space, name):
    variables = [{"name": f"VARIABLE_{i}", "value": "v" * 30} for i in range(10)]
    requests = {"requests": {"cpu": "500m", "memory": "512Mi"}}
    owner = {"controller": True, "kind": "ReplicaSet", "name": name.rsplit("-", 1)[0]}
    return {"metadata": {"namespace": space, "name": name, "labels": {"pod-template-hash": HASH},
                         "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "app", "env": variables, "resources": requests}, {"name": "proxy"}]},
            "status": {"phase": "Running", "startTime": "2026-11-01T00:00:00Z"}}


def page_from(first):
    end = min(first + PAGE, PODS)
    meta = {"resourceVersion": "1"} | ({"continue": str(end)} if end < PODS else {})
    items = [pod_json(*ALL[i]) for i in range(first, end)]
    return json.dumps({"kind": "PodList", "metadata": meta, "items": items}).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = {}

    def log_message(self, *_):
        pass

    def send(self, body, code=200):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say(self, query):
        if query not in self.answers:
            self.answers[query] = answer(query)
        self.send(self.answers[query])

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.say(urllib.parse.parse_qs(body)["query"][0])

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        asked = urllib.parse.parse_qs(url.query)
        if url.path == "/api/v1/query":
            self.say(asked["query"][0])
        elif url.path == "/api/v1/pods":
            self.send(page_from(int(asked.get("continue", ["0"])[0])))
        else:  # no other kinds are served
            self.send(b'{"kind":"Status","code":404,"reason":"NotFound","message":"not served"}', 404)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
