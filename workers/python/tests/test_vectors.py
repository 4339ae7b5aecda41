"""The vectors that the worker shares with poolwise: see docs/protocol.md."""

import json
import os
import socket
import unittest

from poolwise_worker import channel as ch
from poolwise_worker import codec, frames
from poolwise_worker.failure import Failure
from poolwise_worker.output import ItemStream

from .harness import SHIM

with open(os.path.join(SHIM, "..", "testdata", "vectors.json"), encoding="utf-8") as f:
    VECTORS = json.load(f)


def join(pieces):
    """Return a text that is given whole or in pieces."""
    if isinstance(pieces, str):
        return pieces
    return "".join(p if isinstance(p, str) else p["repeat"] * p["times"] for p in pieces)


def body_of(vector):
    return bytes.fromhex(join(vector["hex"]))


def value_of(item):
    if "json" in item:
        return codec.decode(join(item["json"]))
    return bytes.fromhex(join(item["data"])).decode("utf-8", "surrogateescape")


def posted(call):
    """Return type and body of the one frame that a call posts."""
    channel = ch.Channel(-1)
    channel.flush = channel._flush = lambda: None
    call(channel)
    frame = b"".join(channel._out)
    assert int.from_bytes(frame[1:9], "little") == len(frame) - 9
    return frame[0], frame[9:]


class Vectors(unittest.TestCase):
    def each(self, group):
        for vector in VECTORS[group]:
            with self.subTest(vector["name"]):
                yield vector

    def test_chunks(self):
        for vector in self.each("chunk"):
            chunk = frames.Chunk(memoryview(body_of(vector)))
            items = vector["items"]
            self.assertEqual(list(chunk.indexes), [i["index"] for i in items])
            self.assertEqual(list(chunk.attempts or [1] * len(items)), [i["attempt"] for i in items])
            self.assertEqual(len(chunk.values), len(items))
            for value, item in zip(chunk.values, items):
                if item.get("undecodable"):
                    self.assertIs(type(value), frames.Undecodable)
                    self.assertEqual(value.failure.fields["type"], "InvalidInput")
                else:
                    self.assertTrue(value == value_of(item), value)

    def test_not_utf8_becomes_bytes_again(self):
        for vector in self.each("chunk"):
            for value, item in zip(frames.Chunk(memoryview(body_of(vector))).values, vector["items"]):
                if item["form"] == "text":
                    self.assertEqual(value.encode("utf-8", "surrogateescape"), bytes.fromhex(join(item["data"])))

    def test_results(self):
        for vector in self.each("result"):
            body, rows = body_of(vector), vector["results"]
            flags, column = body[4], lambda name: [r[name] for r in rows]
            indexes, attempts, starts = column("index"), column("attempt"), column("start")
            kind, got = posted(lambda channel: frames.post_results(
                channel,
                indexes if flags & frames.INDEXES else range(indexes[0], indexes[0] + len(rows)),
                attempts if flags & frames.ATTEMPTS else None,
                starts if flags & frames.STARTS else starts[0],
                column("end"), [self.value(r) for r in rows],
                [column("cpu"), column("process")] if flags & frames.COSTS else None))
            self.assertEqual((kind, got), (ch.RESULT, body))

    def value(self, row):
        """Return what stands for the item before its frame is made."""
        if row["status"] == "failed":
            failure = Failure("", "")
            failure.fields = json.loads(row["error"])
            return failure
        value = json.loads(row["value"])
        if isinstance(value, dict):
            if "$bytes" in value:
                return frames.finished(b"\x00\xff")
            value = {k.replace("$$", "$"): v for k, v in value.items()}
        return frames.finished(value)

    def test_outputs(self):
        for vector in self.each("output"):
            tag = None if vector["index"] is None else (vector["index"], vector["attempt"])

            def write(channel):
                stream = ItemStream(channel, {"stdout": 1, "stderr": 2}[vector["stream"]], lambda: tag)
                stream.write(bytes.fromhex(vector["data"]))
                stream.release()
            self.assertEqual(posted(write), (ch.OUTPUT, body_of(vector)))

    def test_json(self):
        for vector in self.each("json"):
            self.assertEqual(codec.decode(body_of(vector).decode()), vector["form"])
            self.assertEqual(codec.encode_object(vector["form"]), body_of(vector))

    def test_any_cut_through_the_socket(self):
        ours, theirs = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(theirs.close)
        channel = ch.Channel(theirs.fileno())
        body = body_of(VECTORS["chunk"][0])
        frame = bytes((ch.CHUNK,)) + len(body).to_bytes(8, "little") + body
        for at in range(1, len(frame)):
            ours.sendall(frame[:at])
            channel.fill()
            self.assertIsNone(channel.take())
            ours.sendall(frame[at:])
            channel.fill()
            self.assertEqual(bytes(channel.take()[1]), body)
