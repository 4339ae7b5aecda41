"""Tasks as people run them, standard library only; images.py has the one that is not."""

import ast
import asyncio
import gzip
import hashlib
import json
import os
import re
import sqlite3
import urllib.request

ADDRESS = re.compile(r"\b([a-z0-9.]+)@([a-z0-9-]+(?:\.[a-z]{2,})+)\b")
DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
LONG = re.compile(r"\b\w*([aeiou])\w*\1\w*\1\w*\b")
PORT = os.environ.get("REGRET_PORT")
DATABASE = os.environ.get("REGRET_DATABASE")


def parse_json(path):
    """Number and sum of the amounts in a JSON file."""
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)
    return [len(rows), sum(row["amount"] for row in rows)]


def search(path):
    """How often three patterns are found in a text."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return [len(ADDRESS.findall(text)), len(DATE.findall(text)), len(LONG.findall(text))]


def compress(path):
    """The size of a file when compressed."""
    with open(path, "rb") as f:
        return len(gzip.compress(f.read(), 6, mtime=0))


def digest(path):
    """The SHA-256 of a file."""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def names(path):
    """How many nodes and functions a Python source file has."""
    with open(path, encoding="utf-8") as f:
        nodes = list(ast.walk(ast.parse(f.read())))
    return [len(nodes), sum(isinstance(node, ast.FunctionDef) for node in nodes)]


def fetch(number):
    """The size of a page, by urllib."""
    with urllib.request.urlopen("http://127.0.0.1:%s/%d" % (PORT, number)) as answer:
        return [number, len(answer.read())]


async def fetch_async(number):
    """The size of a page, by asyncio's streams."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(PORT))
    try:
        writer.write(b"GET /%d HTTP/1.0\r\n\r\n" % number)
        answer = await reader.read()
    finally:
        writer.close()
    return [number, len(answer.partition(b"\r\n\r\n")[2])]


def query(customer):
    """Orders and turnover of one customer, without an index to help."""
    connection = sqlite3.connect(DATABASE)
    try:
        return list(connection.execute("SELECT count(*), sum(amount) FROM orders WHERE customer = ?", (customer,)).fetchone())
    finally:
        connection.close()
