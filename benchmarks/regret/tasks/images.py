"""Thumbnails, by Pillow."""

import io

from PIL import Image


def thumbnail(path):
    """The size in bytes of an image's thumbnail."""
    with Image.open(path) as image:
        image.load()
        small = image.resize((320, 240), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=85)
    return len(out.getvalue())
