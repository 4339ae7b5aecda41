"""Count lines, words and characters of text files: poolwise's first example.

    poolwise run examples/textstats.py:stats --from paths 'src/**/*.go' -o stats.jsonl
"""

from collections import Counter


def stats(path):
    """Return counts of the file at path, and its most frequent longer word."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    words = text.split()
    frequent = Counter(w for w in words if len(w) > 3 and w.isalpha()).most_common(1)
    return {
        "path": path,
        "lines": text.count("\n"),
        "words": len(words),
        "characters": len(text),
        "longest_line": max(map(len, text.splitlines()), default=0),
        "frequent": frequent[0][0] if frequent else None,
    }
