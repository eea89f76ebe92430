#!/bin/sh
# The notebook of analysis/python is valid, and its cells run in their order.
. tests/cli/lib.sh

for python in python3 /usr/bin/python3; do
    "$python" -c 'import pandas' 2>"$T/err" && break
    python=
done
[ -n "$python" ] || skip 'no python3 with pandas'
optimised
ORRERY=$(realpath "$ORRERY")
PYTHONPATH=$PWD/analysis/python PYTHONDONTWRITEBYTECODE=1 ORRERY_DATA=$PWD
export ORRERY PYTHONPATH PYTHONDONTWRITEBYTECODE ORRERY_DATA
cp analysis/python/results.ipynb "$T/"
cd "$T" || exit 1
cat >cells.py <<'END'
import json
notebook = json.load(open("results.ipynb"))
assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
assert len(cells) > 4 and not any(cell.get("outputs") for cell in notebook["cells"])
names = {}
for number, cell in enumerate(cells):
    exec(compile(cell, f"cell {number}", "exec"), names)
assert {"params.jobs.scheduler", "params.cluster.nodes"} < set(names["points"].columns)
assert len(names["requests"]) == 4000 and set(names["waiting"].columns) == {1, 2}
END
last='the notebook'
"$python" cells.py >out 2>err || { complain 'a cell fails'; tail -4 err; }
grep -q '^2 replicas: 0\.' out || complain 'it prints no TTFT'
finish
