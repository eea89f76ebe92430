#!/bin/sh
# The scenarios that reproduce simulators of job schedulers, as tests/oracle/README.md names them, on the command
# line alone.
. tests/cli/lib.sh

# Mean completion time and last end of a scenario with what is set of it, as its peer says.
means() { # SCENARIO MEAN_JCT_S LAST_END_S [--set KEY=VALUE]...
    scenario=$1 mean=$2 last_s=$3
    shift 3
    rm -f "$T/r.db"
    run 0 run "tests/fixtures/$scenario" "$@" -o "$T/r.db" --quiet
    sql "$T/r.db" "select abs(avg(jct_s) - $mean) < 1e-4, abs(max(end_s) - $last_s) < 1e-6 from job" '1|1'
}

tiresias() { # SCHEDULER MEAN LAST_END [--set KEY=VALUE]...
    scheduler=$1
    shift
    means tiresias/jobs400.json "$@" --set "jobs.scheduler=$scheduler"
}
tiresias fifo 2433.4375 57722
tiresias fifo-skip 2377.0775 57722
tiresias fewest-gpus 2360.0125 57722
tiresias srtf 2384.98 60908
tiresias srsf 2352.745 57722
means tiresias/jobs400.json 2389.4725 58684 --set jobs.scheduler.service=time
means tiresias/jobs400.json 2362.8825 57722
means tiresias/jobs400.json 2361.955 57722 --set jobs.scheduler=tiresias-gittins --set jobs.scheduler.variant=released

lucid() { # MEAN LAST_END [--set KEY=VALUE]...
    means lucid/jobs400.json "$@" --set jobs.round=0s
}
lucid 2496.4075 57722 --set jobs.scheduler=fifo --set jobs.restart.start=0s
lucid 2407.38 57722 --set jobs.scheduler=sjf --set jobs.scheduler.strict=true --set jobs.restart.start=0s
means lucid/jobs400.json 2431.945 57760

finish
