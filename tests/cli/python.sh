#!/bin/sh
# analysis/python/orrery.py returns what the program prints and the database holds, says what is wrong, and needs no
# pandas until a data frame is asked for.
. tests/cli/lib.sh

command -v python3 >/dev/null || skip 'no python3'
optimised
ORRERY=$(realpath "$ORRERY")
PYTHONPATH=$PWD/analysis/python PYTHONDONTWRITEBYTECODE=1 ORRERY_DATA=$PWD
export ORRERY PYTHONPATH PYTHONDONTWRITEBYTECODE ORRERY_DATA
serving 40 20
studied >"$T/base.json"
echo '{ "scenario": "base.json", "axes": [{"key": "services.chat.routing", "values": ["round-robin", "random"]}] }' >"$T/study.json"
mkdir "$T/blocked"
echo 'raise ImportError("blocked")' >"$T/blocked/pandas.py"
cp analysis/python/README.md "$T/page.md"
cd "$T" || exit 1

cat >test.py <<'END'
import json, os, subprocess, sys
sys.path.insert(0, "blocked")  # no pandas in this part
import orrery

def fails(status, text, call, *arguments, **sets):
    try:
        call(*arguments, **sets)
    except orrery.OrreryError as error:
        assert error.status == status, error.status
        assert text in str(error), str(error)
    else:
        raise AssertionError(f"nothing said: {text}")

printed = subprocess.run([os.environ["ORRERY"], "run", "serve.json", "-q", "--json", "--seed", "3", "--set",
                          "services.chat.replicas=2"], capture_output=True, text=True, check=True).stdout
assert orrery.run("serve.json", "r.db", seed=3, services__chat__replicas=2) == json.loads(printed)
orrery.run("serve.json", "r.db", ["--name", "second"], **{"services.chat.replicas": 1, "services.chat.routing": "random"})

frames = orrery.frames("r.db")
assert [run["name"] for run in frames.rows("run")] == ["serve", "second"]
assert len(frames.rows("request")) == 80 and len(orrery.frames("r.db:2").rows("request")) == 40
assert {row["run_id"] for row in orrery.frames("r.db", 1).rows("service_percentiles")} == {1}
assert "request" in frames and "slo_attainment" in list(frames) and "nothing" not in frames
assert len(orrery.frames("r.db:2").rows("study")) == 0

points = orrery.sweep("study.json", "s.db")["points"]
assert [point["params"]["services.chat.routing"] for point in points] == ["round-robin", "random"]
assert len(orrery.frames("s.db").rows("param")) == 2

fails(2, "did you mean 'replicas'", orrery.run, "serve.json", services__chat__replicsa=2)
fails(2, "no scenario 'quikstart'", orrery.run, "quikstart")
fails(None, "nowhere.db: no such file", orrery.frames, "nowhere.db")
fails(None, "there is no run 9", orrery.frames, "r.db:9")
fails(None, "no table or view 'requests'; it has", frames.rows, "requests")
fails(None, "needs pandas", frames.__getitem__, "request")
fails(None, "page.md: ", orrery.frames, "page.md")
orrery.__file__ = "/a/b/c/orrery.py"
assert "slo_attainment" in orrery.frames("r.db")  # the views of $ORRERY_DATA
os.environ["ORRERY_DATA"] = "/nowhere"
fails(2, "set ORRERY_DATA to the directory that holds 'configs'", orrery.run, "quickstart")
fails(None, "for views, set ORRERY_DATA to the directory", orrery.frames("r.db").rows, "slo_attainment")
os.environ["ORRERY"] = "/nowhere/orrery"
fails(None, "cannot start /nowhere/orrery", orrery.run, "serve.json")
os.environ.pop("ORRERY")
os.environ["PATH"] = "/nowhere"
fails(None, "no program 'orrery'", orrery.run, "serve.json")
END
last='test.py'
python3 test.py >out 2>err || { complain 'it fails'; tail -4 err; }

# The Python code of the page.
last='the Python code of analysis/python/README.md'
awk '/^```/ { inside = $0 == "```python"; next } inside' page.md >page.py
[ "$(wc -l <page.py)" -gt 3 ] || complain 'there is none'
python3 page.py >out 2>err || { complain 'it fails'; tail -4 err; }
grep -q '^ttft_s ' out || complain 'it prints no percentile'
finish
