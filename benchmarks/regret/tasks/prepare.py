"""Makes the inputs that need Python to make. Arguments: images FOLDER COUNT, database FILE ROWS."""

import random
import sqlite3
import sys


def images(folder, count):
    """Photograph-like pictures: smooth colours with some noise."""
    from PIL import Image

    for i in range(count):
        noise = Image.effect_noise((1600, 1200), 24 + i % 16)
        picture = Image.merge("RGB", (Image.linear_gradient("L").resize(noise.size), noise, Image.radial_gradient("L").resize(noise.size)))
        picture.save("%s/%03d.jpg" % (folder, i), quality=88)


def database(path, rows):
    """Orders of a thousand customers."""
    source = random.Random(1)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER, note TEXT)")
    connection.executemany(
        "INSERT INTO orders (customer, amount, note) VALUES (?, ?, ?)",
        ((source.randrange(1000), source.randrange(100000), "note %d" % i) for i in range(rows)),
    )
    connection.commit()
    connection.close()


if __name__ == "__main__":
    {"images": images, "database": database}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
