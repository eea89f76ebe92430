#!/bin/sh
# An installed program finds its configurations from any directory.
. tests/cli/lib.sh

mkdir -p "$T/prefix/bin" "$T/prefix/share/orrery/traces" "$T/prefix/share/orrery/analysis" "$T/elsewhere"
cp "$ORRERY" "$T/prefix/bin/orrery"
cp -r configs "$T/prefix/share/orrery/"
cp -r traces/samples "$T/prefix/share/orrery/traces/"
cp -r analysis/sql "$T/prefix/share/orrery/analysis/"
root=$PWD
cd "$T/elsewhere" || exit 1

ORRERY=$T/prefix/bin/orrery
run 0 run quickstart -o r.db --quiet
sql r.db "select name, status from run" 'quickstart|done'
run 0 list gpus
out 'h100-sxm'
run 0 export r.db metrics_by_run
out 'quickstart'

# $ORRERY_DATA goes before all else.
mv "$T/prefix/share/orrery" "$T/data"
run 2 run quickstart
err "error: no scenario 'quickstart'"
export ORRERY_DATA="$T/data"
run 0 run quickstart --quiet
ORRERY_DATA=$T/nowhere
run 2 run quickstart
run 3 list gpus
err "$T/nowhere/configs/hardware: error: cannot list the GPUs of the catalog: No such file or directory; set ORRERY_DATA to"
unset ORRERY_DATA

# A program in its source tree knows where that is; the current directory goes before it.
ORRERY=$root/${BUILD:-build/release}/orrery
run 0 list gpus
mkdir -p configs/scenarios
run 0 run quickstart --quiet # a "configs" without a catalog is somebody else's
mkdir configs/hardware
printf '// Nothing but jobs\n{"jobs": {"trace": {"format": "csv-jobs", "path": "jobs.csv"}}}\n' >configs/scenarios/mine.json
printf 'submit_s,duration_s,gpus\n0,10,4\n' >configs/scenarios/jobs.csv
run 0 list scenarios
out_is <<'END'
scenario  summary
mine      Nothing but jobs
END
run 0 run mine --json
json '$.metrics."job.finished"' 1
finish
