"""Files that are complete after every row, so that a part may end at any time and go on later."""
import csv
import math
import os


def mend(path):
    """Cuts off a last line without its end, which a process left that died while it wrote."""
    with open(path, "rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def open_to_append(path):
    if os.path.exists(path):
        mend(path)
    return open(path, "a", newline="")


def shown(value):
    """A field: floats to six digits, nothing for what is unknown."""
    if not isinstance(value, float):
        return value
    return f"{value:.6g}" if math.isfinite(value) else ""


class Rows:
    """A CSV file; several parts may add to one."""

    def __init__(self, path, columns):
        self.file = open_to_append(path)
        self.writer = csv.DictWriter(self.file, columns, lineterminator="\n")
        if self.file.tell() == 0:
            self.writer.writeheader()

    def add(self, row):
        self.writer.writerow({name: shown(value) for name, value in row.items() if not name.startswith("_")})
        self.file.flush()


class Progress:
    """The points of a part that are measured, or failed and are not tried again: a line each."""

    def __init__(self, out, part):
        folder = os.path.join(out, "progress")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"{part}.txt")
        self.file = open_to_append(path)
        with open(path) as file:
            lines = file.read().splitlines()
        self.measured = {line[2:] for line in lines if line.startswith("+ ")}
        self.failed = {line[2:] for line in lines if line.startswith("- ")}

    def has(self, key):
        return key in self.measured or key in self.failed

    def add(self, key, is_measured):
        (self.measured if is_measured else self.failed).add(key)
        self.file.write(f"{'+' if is_measured else '-'} {key}\n")
        self.file.flush()
