"""Runs the parts: each in a process of its own, within its time, from where the last call ended.

`backend` is what knows the device (gpu.py, or another in tests):
    backend.facts()                       the facts of manifest.py; may use the GPU
    backend.open(part, facts, is_quick)   what measures a part: an object with measure(point), which returns the rows of
                                          the point as dicts; raises Skip where the part cannot run here. With a true
                                          is_whole, its first point takes the time of all
Both are called in child processes, so that no part's failure, memory or state is another's."""
import argparse
import json
import os
import signal
import sys
import time

from . import manifest as manifests
from . import plan, rows

GRACE_S = 60  # beyond a part's time, for its start and its last point


class Skip(Exception):
    """A part cannot run here; the text says why."""


def note_path(out, name):
    return os.path.join(out, "progress", f"{name}.note")


def write_note(out, name, text):
    os.makedirs(os.path.join(out, "progress"), exist_ok=True)
    with open(note_path(out, name), "w") as file:
        file.write(text)


def take_note(out, name):
    """The text that a child left, or None."""
    try:
        with open(note_path(out, name)) as file:
            text = file.read()
        os.remove(note_path(out, name))
        return text
    except FileNotFoundError:
        return None


def one_line(error):
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


# --- In a child ---

def measure_point(measurer, point, table, progress, log):
    """Adds the rows of a point. One that fails is noted and not tried again."""
    try:
        found = measurer.measure(point)
    except (Skip, MemoryError):
        raise
    except Exception as error:
        log(f"  {plan.key(point)}: {one_line(error)}")
        progress.add(plan.key(point), False)
        return
    for row in found:
        table.add({**point, **row})
    progress.add(plan.key(point), True)


def measure_part(part, points, facts, out, seconds, backend, is_quick, clock=time.monotonic, log=print):
    """Measures the points that are left, until the time is over."""
    progress = rows.Progress(out, part.name)
    left = [point for point in points if not progress.has(plan.key(point))]
    if not left:
        return
    measurer = backend.open(part.name, facts, is_quick)
    table, until = rows.Rows(os.path.join(out, part.file), part.columns), clock() + seconds
    for point in left:
        if clock() > until and not getattr(measurer, "is_whole", False):
            break
        measure_point(measurer, point, table, progress, log)


# --- Children ---

def stop(child):
    """Ends a child with all that it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child, sign)
        except ProcessLookupError:  # it has not begun its session
            os.kill(child, sign)
        time.sleep(0.5)


def wait_for(child, seconds):
    """Whether it ended by itself, without error; a child that takes longer is stopped."""
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended == child:
                return status == 0
            time.sleep(0.02)
    except KeyboardInterrupt:
        stop(child)
        raise
    stop(child)
    os.waitpid(child, 0)
    return False


def in_child(out, name, function, seconds):
    """Calls a function in a child process, a session of its own. None, or why it failed."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            function()
            code = 0
        except Skip as error:
            write_note(out, name, f"skipped: {error}")
        except BaseException as error:
            write_note(out, name, one_line(error))
        sys.stdout.flush()
        os._exit(code)
    if wait_for(child, seconds):
        return None
    return take_note(out, name) or "stopped: it took too long, or it died"


def ask_facts(out, backend):
    """The facts by a child, since a process that has used CUDA cannot fork."""
    path = os.path.join(out, "progress", "facts.json")

    def write():
        found = backend.facts()
        with open(path, "w") as file:
            json.dump(found, file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    problem = in_child(out, "facts", write, 120)
    if problem is not None:
        raise SystemExit(f"measure.py: no GPU can be measured here: {problem.removeprefix('skipped: ')}")
    with open(path) as file:
        return json.load(file)


# --- Parts ---

def outcome(progress, points, problem, has_rows):
    """Status and reason of a part from what its child did."""
    n_failed = sum(plan.key(point) in progress.failed for point in points)
    n_left = sum(not progress.has(plan.key(point)) for point in points)
    if problem is not None:
        status = "skipped" if problem.startswith("skipped: ") else "failed"
        return ("partial" if has_rows else status), problem.removeprefix("skipped: ")
    if n_left > 0:
        return "partial", f"its time was over; {n_left} points are left for the next call"
    if n_failed == len(points):
        return "failed", "every point failed; the messages above say why"
    return "done", f"{n_failed} points failed" if n_failed > 0 else None


def run_part(part, facts, out, seconds, backend, is_quick, manifest):
    reason = part.needs(facts)
    if reason is not None:
        manifests.record(manifest, part.name, "skipped", 0, 0, 0.0, reason, part.file)
        return
    whole = part.points(facts)
    points = plan.shorten(whole) if is_quick else whole
    begin = time.monotonic()
    problem = in_child(out, part.name,
                       lambda: measure_part(part, points, facts, out, seconds, backend, is_quick), seconds + GRACE_S)
    progress = rows.Progress(out, part.name)
    n_measured = len(progress.measured)
    status, reason = outcome(progress, points, problem, n_measured > 0)
    if status == "done" and len(points) < len(whole):
        status, reason = "partial", "--quick: a few points"
    manifests.record(manifest, part.name, status, n_measured, len(whole), time.monotonic() - begin, reason, part.file)


def describe(name, entry):
    why = f": {entry['reason']}" if entry.get("reason") else ""
    return f"{name}: {entry['status']}, {entry['measured']} of {entry['planned']} points{why}"


def choose(words):
    """[(part, seconds)] for words "bf16" or "bf16=230"; no words: all parts."""
    named = {part.name: part for part in plan.PARTS}
    chosen = []
    for word in words or list(named):
        name, _, seconds = word.partition("=")
        if name not in named:
            raise SystemExit(f"measure.py: no part '{name}'; there are {', '.join(named)}")
        try:
            chosen.append((named[name], float(seconds) if seconds else named[name].seconds))
        except ValueError:
            raise SystemExit(f"measure.py: '{word}' needs seconds behind the '='") from None
    return chosen


def print_plan(facts, chosen):
    total = 0.0
    for part, seconds in chosen:
        reason = part.needs(facts)
        points = len(part.points(facts)) if reason is None else 0
        total += seconds if reason is None else 0.0
        print(f"{part.name:15} " + (f"{points:5} points, at most {seconds:4.0f} s: {part.what}" if reason is None
                                    else f"skipped: {reason}"))
    print(f"at most {total / 60:.0f} minutes")


def open_folder(out, facts):
    """The manifest of a folder that is begun, or a new one."""
    manifest = manifests.load(out)
    if manifest is None:
        return manifests.begin(facts)
    why = manifests.difference(manifest, facts)
    if why is not None:
        raise SystemExit(f"measure.py: {out} has rows of another machine: {why}; name a new folder with --out")
    return manifest


def is_done(part, manifest):
    return manifest["parts"].get(part.name, {}).get("status") == "done"


def scale_to(minutes, chosen, facts, manifest):
    """The factor that makes the times of the parts that will run `minutes` together; None leaves them as they are."""
    total_s = sum(seconds for part, seconds in chosen if part.needs(facts) is None and not is_done(part, manifest))
    return minutes * 60 / total_s if minutes and total_s else 1.0


def run_all(out, chosen, backend, is_quick, minutes):
    os.makedirs(out, exist_ok=True)
    facts = ask_facts(out, backend)
    manifest = open_folder(out, facts)
    manifests.save(out, manifest)
    scale = scale_to(minutes, chosen, facts, manifest)
    for part, seconds in chosen:
        if is_done(part, manifest):
            print(f"{part.name}: done before", flush=True)
            continue
        print(f"{part.name}: {part.what}", flush=True)
        run_part(part, facts, out, seconds * scale, backend, is_quick, manifest)
        manifests.save(out, manifest)
        print(describe(part.name, manifest["parts"][part.name]), flush=True)
    return manifest


def parse(arguments):
    parser = argparse.ArgumentParser(prog="measure.py", description="Measures this machine's first GPU for Orrery.",
                                     epilog="Stopped or out of time, the same call goes on where it ended.")
    parser.add_argument("parts", nargs="*", metavar="PART[=SECONDS]", help="some parts, with their longest times")
    parser.add_argument("--out", metavar="DIR", help="the folder of manifest and rows")
    parser.add_argument("--plan", action="store_true", help="measure nothing: print the parts and what is skipped")
    parser.add_argument("--quick", action="store_true", help="a few points of each part: does it run here?")
    parser.add_argument("--minutes", type=float, metavar="N", help="scale the times of all parts to N minutes")
    return parser, parser.parse_args(arguments)


def main(arguments, backend):
    parser, options = parse(arguments)
    chosen = choose(options.parts)
    if options.plan:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            print_plan(ask_facts(folder, backend), chosen)
        return
    if options.out is None:
        parser.error("name the folder of the rows with --out DIR")
    if options.minutes is not None and not options.minutes > 0:
        parser.error("--minutes must be more than 0")
    try:
        run_all(options.out, chosen, backend, options.quick, options.minutes)
    except KeyboardInterrupt:
        raise SystemExit("\nmeasure.py: stopped; the same call goes on") from None
    print(f"\nCopy {options.out} to the machine with Orrery; there: orrery profile {options.out} -o my-gpu.json")
