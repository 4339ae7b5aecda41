"""Frames over a socket: cut anywhere, large, many at once, from within each other."""

import os
import socket
import threading
import unittest

from poolwise_worker import channel as ch
from poolwise_worker.output import ItemStream


def frame(kind, body):
    return bytes((kind,)) + len(body).to_bytes(8, "little") + body


def cut(data):
    """Return the whole frames in data."""
    out = []
    while data:
        end = 9 + int.from_bytes(data[1:9], "little")
        assert len(data) >= end, "half a frame"
        out.append((data[0], bytes(data[9:end])))
        data = data[end:]
    return out


class Case(unittest.TestCase):
    def setUp(self):
        self.far, near = socket.socketpair()
        self.far.settimeout(60)
        self.addCleanup(self.far.close)
        self.addCleanup(near.close)
        self.near = near
        self.channel = ch.Channel(near.fileno())

    def sent(self):
        """Close this end; return the frames that the other one gets."""
        self.near.close()
        data = b""
        while True:
            more = self.far.recv(1 << 16)
            if not more:
                return cut(data)
            data += more


class Reading(Case):
    def test_bytes_one_by_one(self):
        want = [(2, b"abc"), (3, b""), (200, b"x" * 20)]
        got = []
        for byte in b"".join(frame(*f) for f in want):
            self.far.sendall(bytes((byte,)))
            self.channel.fill()
            one = self.channel.take()
            if one:
                got.append((one[0], bytes(one[1])))
        self.assertEqual(got, want)

    def test_many_in_one_read(self):
        self.far.sendall(b"".join(frame(2, b"%d" % i) for i in range(1000)))
        self.assertEqual([bytes(self.channel.receive()[1]) for _ in range(1000)], [b"%d" % i for i in range(1000)])

    def test_large_between_small(self):
        large = os.urandom(1 << 20) * 3
        data = frame(2, b"first") + frame(2, large) + frame(2, b"last")
        sender = threading.Thread(target=self.far.sendall, args=(data,))
        sender.start()
        got = [bytes(self.channel.receive()[1]) for _ in range(3)]
        sender.join()
        self.assertEqual(got, [b"first", large, b"last"])

    def test_end(self):
        self.far.sendall(frame(2, b"whole")[:-1])
        self.far.shutdown(socket.SHUT_WR)
        self.assertRaises(ch.Closed, self.channel.receive)

    def test_end_within_a_large_one(self):
        self.far.sendall(frame(2, b"")[:1] + (1 << 20).to_bytes(8, "little") + b"begin")
        self.far.shutdown(socket.SHUT_WR)
        self.assertRaises(ch.Closed, self.channel.receive)

    def test_sends_before_it_blocks(self):
        self.channel.post(68, b"waits")
        self.far.shutdown(socket.SHUT_WR)
        self.assertRaises(ch.Closed, self.channel.receive)
        self.assertEqual(self.sent(), [(68, b"waits")])


class Writing(Case):
    def test_small_ones_wait(self):
        for i in range(3):
            self.channel.post(67, b"a", b"%d" % i)
        self.far.setblocking(False)
        self.assertRaises(BlockingIOError, self.far.recv, 1)
        self.channel.flush()
        self.far.settimeout(60)
        self.assertEqual(self.sent(), [(67, b"a0"), (67, b"a1"), (67, b"a2")])

    def test_large_one_leaves_at_once(self):
        self.channel.post(67, b"x" * ch.COALESCE)
        self.assertEqual(self.sent(), [(67, b"x" * ch.COALESCE)])

    def test_descriptor_that_is_no_socket_of_ours(self):
        os.dup2(os.open(os.devnull, os.O_RDONLY), self.near.fileno())
        self.assertRaises(ch.Closed, self.channel.send, 67, b"x")

    def test_from_many_threads(self):
        def post(n):
            for i in range(200):
                self.channel.post(67, b"%d:" % n, b"%d" % i * 50)
            self.channel.flush()
        want = sorted(b"%d:" % n + b"%d" % i * 50 for n in range(4) for i in range(200))
        threads = [threading.Thread(target=post, args=(n,)) for n in range(4)]
        for t in threads:
            t.start()
        data, size = b"", sum(9 + len(body) for body in want)
        while len(data) < size:
            data += self.far.recv(1 << 16)
        for t in threads:
            t.join()
        self.assertEqual(sorted(body for _, body in cut(data)), want)

    def test_a_handler_that_prints_meanwhile(self):
        """Code of the user's that runs within a write, in the same thread, does no harm."""
        class Out(list):
            def extend(out, parts):
                within(lambda: list.extend(out, parts))

        class Part(bytes):
            def __len__(part):
                within(lambda: None)
                return bytes.__len__(part)

        depth = []

        def within(call):
            if not depth:
                depth.append(1)
                stream.write(b"printed\n")
                depth.pop()
            call()

        stream = ItemStream(self.channel, 1, lambda: (4, 1))
        self.channel._out = Out()
        self.channel.post(67, Part(b"a"), b"b")
        self.channel.flush()
        output = (68, b"\1\0\0\0" + (1).to_bytes(4, "little") + (5).to_bytes(8, "little") + b"printed\n")
        got = self.sent()
        self.assertEqual(got.count((67, b"ab")), 1)
        self.assertEqual(set(got), {(67, b"ab"), output})
