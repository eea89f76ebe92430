"""Runs and sweeps of Orrery from Python, and their results as data frames.

One file on the standard library: `import orrery` works wherever this file is found. pandas is needed for data frames
alone. The module starts the program `orrery` and reads the results database; it computes nothing itself.

    import orrery
    summary = orrery.run("quickstart", "results.db", services__chat__replicas=4)
    requests = orrery.frames("results.db")["request"]
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

__all__ = ["OrreryError", "program", "run", "sweep", "frames", "Frames"]

APPLICATION_ID = 0x4F727279  # of a results database, sim/core/database.h


class OrreryError(Exception):
    """What went wrong, in the words of the program. `status` is its exit status, None if it was not called."""

    def __init__(self, message, status=None):
        super().__init__(message)
        self.status = status


def program():
    """Path of the program: $ORRERY, else `orrery` in $PATH, else that of the source tree this file lies in."""
    built = pathlib.Path(__file__).resolve().parents[2] / "build" / "orrery"
    found = os.environ.get("ORRERY") or shutil.which("orrery") or (str(built) if built.exists() else None)
    if found is None:
        raise OrreryError("there is no program 'orrery' in $PATH; install it, or set $ORRERY to its path")
    return found


def _call(*arguments):
    """Standard output of the program."""
    try:
        called = subprocess.run([program(), *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise OrreryError(f"cannot start {error.filename}: {error.strerror}; is $ORRERY right?") from None
    if called.returncode != 0:
        said = called.stderr.strip() or "no message"
        raise OrreryError(f"orrery {arguments[0]} ended with exit status {called.returncode}:\n{said}", called.returncode)
    return called.stdout


def _settings(sets):
    """Keyword arguments as --set options. Two underscores stand for the point in a key."""
    for key, value in sets.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield from ("--set", f"{key.replace('__', '.')}={text}")


def run(scenario, output=None, options=(), **sets):
    """Simulates a scenario, a file or a name of `orrery list scenarios`, and returns its summary as a dict.

    output: the results database that the run is added to; None: no rows are kept.
    options: more options of `orrery run`, such as ["--plugin", "my.so"].
    sets: values of the scenario: services__chat__replicas=4, seed=2, or **{"services.chat.replicas": 4}.
    """
    target = ["-o", os.fspath(output)] if output is not None else []
    return json.loads(_call("run", os.fspath(scenario), "--json", "--quiet", *target, *options, *_settings(sets)))


def sweep(study, output=None, options=(), **sets):
    """Runs a study, a file or a name of configs/studies, on all cores, and returns its table as a dict.

    output: the new results database; None: the study's name and '.db', in the current folder.
    """
    target = ["-o", os.fspath(output)] if output is not None else []
    return json.loads(_call("sweep", os.fspath(study), "--json", "--quiet", *target, *options, *_settings(sets)))


def _views():
    """The folder analysis/sql, which may be absent."""
    beside = pathlib.Path(__file__).resolve().parents[1] / "sql"
    return beside if beside.is_dir() else pathlib.Path(os.environ.get("ORRERY_DATA") or ".") / "analysis" / "sql"


class Frames:
    """Tables and views of a results database: frames["request"] reads one as a pandas.DataFrame.

    Iterating yields their names. Views are those of analysis/sql: of the folder beside this file's, else of $ORRERY_DATA.
    """

    def __init__(self, database, run_id=None):
        name = os.fspath(database)
        split = re.fullmatch(r"(.+):(\d+)", name)
        if split and not os.path.exists(name):
            name, run_id = split[1], int(split[2])
        self.path, self.run_id = name, run_id
        if not os.path.exists(name):
            raise OrreryError(f"{name}: no such file")
        try:
            self._connection = sqlite3.connect(f"{pathlib.Path(name).resolve().as_uri()}?mode=ro", uri=True)
            found = self._connection.execute("PRAGMA application_id").fetchone()[0]
        except sqlite3.Error as error:
            raise OrreryError(f"{name}: {error}") from None
        if found != APPLICATION_ID:
            raise OrreryError(f"{name}: not a results database of Orrery")
        tables = self._connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name")
        self._names = [row[0] for row in tables]
        for file in sorted(_views().glob("*.sql")):
            self._connection.executescript(file.read_text(encoding="utf-8"))
            self._names.append(file.stem)
        if run_id is not None and not self._connection.execute("SELECT 1 FROM run WHERE id = ?", [run_id]).fetchone():
            raise OrreryError(f"{name}: there is no run {run_id}")

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __contains__(self, name):
        return name in self._names

    def __repr__(self):
        return f"Frames of {self.path}: {', '.join(self._names)}"

    def _select(self, name):
        if name not in self._names:
            absent = "" if _views().is_dir() else "; for views, set ORRERY_DATA to the directory that holds 'analysis'"
            raise OrreryError(f"{self.path} has no table or view '{name}'; it has {', '.join(self._names)}{absent}")
        columns = [row[0] for row in self._connection.execute(f'SELECT * FROM "{name}" LIMIT 0').description]
        key = "id" if name == "run" else "run_id"
        where = f" WHERE {key} = {int(self.run_id)}" if self.run_id is not None and key in columns else ""
        return f'SELECT * FROM "{name}"{where}', columns

    def rows(self, name):
        """The rows as dicts, without pandas."""
        select, columns = self._select(name)
        return [dict(zip(columns, row)) for row in self._connection.execute(select)]

    def __getitem__(self, name):
        select, _ = self._select(name)
        try:
            import pandas
        except ImportError:
            raise OrreryError(f"a data frame needs pandas, which is not installed; rows('{name}') needs nothing") from None
        return pandas.read_sql_query(select, self._connection)


def frames(database, run_id=None):
    """Tables and views of a results database, "results.db" or "results.db:3"; of all runs, or of one."""
    return Frames(database, run_id)
