"""Follows a mix (Program in load/generators/mix.js), whose program.json stands beside this file, and counts what becomes of it.

Users live as long as the master, and wait between phases: so that a phase begins at once. A line `{"duration_s": 1}` on
the master's stdin begins one; its counts come back as a line on stdout.
"""

import errno
import json
import math
import os
import signal
import socket
import ssl
import sys
import time
from collections import Counter
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path

import gevent
from gevent.event import Event
from geventhttpclient.client import HTTPConnectionClosed, HTTPParseError
from locust import FastHttpUser, constant, events, task
from locust.runners import MasterRunner

SETUP = json.loads(Path(__file__).with_name("program.json").read_text())
PROGRAM = SETUP["program"]
ENTRIES = PROGRAM["entries"]
RETRY_DELAY_S = 0.01
READY_POLL_S = 0.02
ALARM_INTERVAL_S = 0.25
PIECE_BYTES = 64 * 1024


# load/system/random.js in Python.

STEP = 0x6D2B79F5
MASK = 0xFFFFFFFF


def random_at(n):
    state = (PROGRAM["seed"] + (n + 1) * STEP) & MASK
    mixed = ((state ^ (state >> 15)) * (1 | state)) & MASK
    mixed = ((mixed + ((mixed ^ (mixed >> 7)) * (61 | mixed))) & MASK) ^ mixed
    return (mixed ^ (mixed >> 14)) / 2**32


# load/generators/template.js in Python.


def word(number):
    letters = ""
    for _ in range(6):
        number, letter = divmod(number, 26)
        letters += chr(97 + letter)
    return letters


def fill(parts, index, n):
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        elif part["fill"] == "index":
            text += str(index)
        elif part["fill"] == "seq":
            text += str(PROGRAM["first_seq"] + index)
        elif part["fill"] == "data":
            text += part["values"][(PROGRAM["first_seq"] + index) % len(part["values"])]
        else:
            drawn = random_at(n)
            n += 1
            if part["fill"] == "word":
                text += word(math.floor(drawn * 26**6))
            else:
                text += str(part["min"] + math.floor(drawn * (part["max"] - part["min"] + 1)))
    return text, n


def request_at(index):
    n = index * PROGRAM["draws"]
    drawn = random_at(n)
    entry = next(entry for entry in ENTRIES if drawn < entry["up_to"])
    path, n = fill(entry["path"], index, n + 1)
    body, _ = fill(entry["body"], index, n)
    return entry, path, body.encode("latin-1")


# A worker: its users send when their answers have come, until the phase is over.


class Phase:
    def __init__(self, duration_s):
        self.start_s = time.perf_counter()
        self.start_cpu_s = time.process_time()
        self.end_s = self.start_s + duration_s
        self.last_s = self.start_s
        self.sent = 0
        self.errors = Counter()
        self.answers = Counter()

    def answered(self, name, status, latency_s, now_s):
        self.answers[name, status, int(now_s - self.start_s), round(latency_s * 1e6)] += 1
        self.last_s = now_s

    def failed(self, name, error, latency_s):
        code = code_of(error)
        self.errors[name, code, round(latency_s * 1e6) if code == "TIMEOUT" else 0] += 1

    def counts(self):
        return {
            "host": SETUP["host"],
            "sent": self.sent,
            "run_s": self.last_s - self.start_s,
            "cpu_s": time.process_time() - self.start_cpu_s,
            "errors": [(*key, count) for key, count in self.errors.items()],
            "answers": [(*key, count) for key, count in self.answers.items()],
        }


class Worker:
    runner = None
    phase = None
    users = 0
    busy = 0
    number = 0
    upcoming = Event()

    def begin(self, environment, msg):
        self.phase = Phase(msg.data["duration_s"])
        self.busy = self.users
        begin, self.upcoming = self.upcoming, Event()
        begin.set()

    def next_index(self):
        index = self.runner.worker_index + self.number * SETUP["workers"]
        self.number += 1
        return index

    def user_ended(self):
        self.busy -= 1
        if self.busy == 0:
            self.runner.send_message("counts", self.phase.counts())


worker = Worker()


def ssl_context():
    context = ssl.create_default_context()
    if os.environ.get("NODE_EXTRA_CA_CERTS"):
        context.load_verify_locations(os.environ["NODE_EXTRA_CA_CERTS"])
    return context


class User(FastHttpUser):
    host = SETUP["origin"]
    wait_time = constant(0)
    insecure = False
    ssl_context_factory = staticmethod(ssl_context)
    connection_timeout = SETUP["timeout_s"]
    network_timeout = SETUP["timeout_s"]
    concurrency = 1

    def on_start(self):
        # Every request is as another client's.
        self.client.cookiejar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        worker.users += 1

    @task
    def take_part(self):
        worker.upcoming.wait()
        phase = worker.phase
        try:
            while time.perf_counter() < phase.end_s:
                self.send(phase)
        finally:
            worker.user_ended()

    def send(self, phase):
        entry, path, body = request_at(worker.next_index())
        phase.sent += 1
        begun_s = time.perf_counter()
        try:
            with deadline(begun_s + SETUP["timeout_s"]):
                response = self.client.request(
                    entry["method"],
                    path,
                    name=entry["name"],
                    data=body or None,
                    headers=entry["headers"],
                    allow_redirects=False,
                    stream=True,
                )
                status, error = response.status_code, getattr(response, "error", None)
                # Piece by piece, since a body may be endless.
                while status and response.read(PIECE_BYTES):
                    pass
        except Exception as unforeseen:
            status, error = 0, unforeseen
        now_s = time.perf_counter()
        if status:
            phase.answered(entry["name"], status, now_s - begun_s, now_s)
        else:
            phase.failed(entry["name"], error, now_s - begun_s)
            gevent.sleep(RETRY_DELAY_S)


# By user, whose greenlet reads an endless response without ever letting gevent's timers run: a signal interrupts it.
deadlines_s = {}


@contextmanager
def deadline(end_s):
    user = gevent.getcurrent()
    deadlines_s[user] = end_s
    try:
        with gevent.Timeout(SETUP["timeout_s"], TimeoutError):
            yield
    finally:
        deadlines_s.pop(user, None)


def on_alarm(*_):
    if time.perf_counter() > deadlines_s.get(gevent.getcurrent(), math.inf):
        raise TimeoutError


def code_of(error):
    """As Node's sockets name it, or TIMEOUT, CLOSED, PROTOCOL, TLS."""
    codes = []
    seen = error
    while seen is not None and len(codes) < 10:
        codes.append(own_code(seen))
        seen = getattr(seen, "original", None) or seen.__cause__ or seen.__context__
    # That a connection closed is what is left to say where nobody knows why.
    told = [code for code in codes if code]
    return next((code for code in told if code != "CLOSED"), told[0] if told else type(error).__name__)


def own_code(error):
    if isinstance(error, (TimeoutError, gevent.Timeout)):
        return "TIMEOUT"
    if isinstance(error, HTTPConnectionClosed):
        return "CLOSED"
    if isinstance(error, HTTPParseError):
        return "PROTOCOL"
    if isinstance(error, ssl.SSLError):
        return "TLS"
    if isinstance(error, socket.gaierror):
        return "ENOTFOUND"
    return errno.errorcode.get(error.errno) if isinstance(error, OSError) else None


# The master: puts together what the workers counted.


class Master:
    def __init__(self, runner):
        self.runner = runner
        self.found = []
        runner.register_message("counts", self.counted)

    def counted(self, environment, msg):
        self.found.append(msg.data)
        if len(self.found) == SETUP["workers"]:
            say({"counts": self.found})
            self.found = []

    def listen(self):
        while self.runner.user_count < SETUP["connections"]:
            gevent.sleep(READY_POLL_S)
        say({"ready": True})
        while line := gevent.get_hub().threadpool.apply(sys.stdin.readline):
            self.runner.send_message("phase", json.loads(line))


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


@events.init.add_listener
def on_init(environment, runner, **_):
    if isinstance(runner, MasterRunner):
        gevent.spawn(Master(runner).listen)
    else:
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, ALARM_INTERVAL_S, ALARM_INTERVAL_S)
        worker.runner = runner
        runner.register_message("phase", worker.begin)
