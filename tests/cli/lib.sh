# For scripts in tests/cli: run the command line, and compare what it says.
#
#     run 2 run no-such.json        runs "orrery run no-such.json" and checks that it exits with 2
#     err 'text'                    standard error holds this text; err_is compares the whole with standard input
#     out 'text'                    the same of standard output
#     json '$.seed' 7               the JSON on standard output has this value at this path
#     sql FILE 'select ...' 7       a query gives this
#
# A script ends with `finish`. It runs in the root of the repository; $T is a directory of its own.
: "${ORRERY:=build/orrery}" "${TEST_TMPDIR:=$(mktemp -d)}"
T=$TEST_TMPDIR
failures=0
last=
call_kinds=
begun_by=

under_test=$ORRERY
case ${OPTIMISED:-/} in /*) ;; *) OPTIMISED=$PWD/$OPTIMISED ;; esac

# The program of the optimised build, which has no sanitizers, for experiments too large for these; the one under test
# where there is none.
optimised() { ORRERY=${OPTIMISED:+$OPTIMISED/orrery}; : "${ORRERY:=$under_test}"; }
# The program under test again.
sanitized() { ORRERY=$under_test; }

complain() {
    echo "FAILED: $*"
    echo "  after: $last"
    failures=$((failures + 1))
}

# Of the calls of a script with the same status, verb and options, the first is that of the program under test, where
# leaks are looked for, the others of the optimised build: a process with sanitizers takes long to start. What one
# program began is resumed by it. A script that needs one program for all calls sets SANITIZED_CALLS=all.
: "${SANITIZED_CALLS:=first}"
run() {
    want=$1
    shift
    last="orrery $*"
    call_kind=$want/$1
    for argument; do case $argument in -*) call_kind="$call_kind ${argument%%=*}" ;; esac; done
    chosen=$ORRERY
    leaks=0
    case $call_kinds in
    *"($call_kind)"*)
        [ "$chosen" != "$under_test" ] || [ $SANITIZED_CALLS = all ] || chosen=${OPTIMISED:+$OPTIMISED/orrery}
        ;;
    *)
        call_kinds="$call_kinds($call_kind)"
        leaks=1
        ;;
    esac
    case $call_kind in
    *' --resume'*) chosen=${begun_by:-$chosen} ;;
    */sweep* | */figure*) [ "$want" = 2 ] || begun_by=$chosen ;;
    esac
    ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=$leaks \
        "${chosen:-$under_test}" "$@" >"$T/out" 2>"$T/err" </dev/null
    status=$?
    [ $status = "$want" ] || { complain "exit status $status, expected $want"; head -5 "$T/err"; }
}

# Reads the first lines by itself, since they mostly decide and a process takes longer.
holds() { # FILE TEXT
    n_lines=0 some=
    while [ $n_lines -lt 20 ] && { IFS= read -r line || [ -n "$line" ]; }; do
        case $line in *"$2"*) return ;; esac
        some="$some    $line
" n_lines=$((n_lines + 1))
    done <"$1"
    [ $n_lines = 20 ] && grep -qF -e "$2" "$1" || { complain "this is not in its output: $2"; printf %s "$some"; }
}
out() { holds "$T/out" "$1"; }
err() { holds "$T/err" "$1"; }

same() { # FILE, expected text on standard input
    cat >"$T/expected"
    diff "$T/expected" "$1" >"$T/difference" || { complain "another output than expected:"; cat "$T/difference"; }
}
out_is() { same "$T/out"; }
err_is() { same "$T/err"; }

equal() { [ "$1" = "$2" ] || complain "${3:-value} is '$1', expected '$2'"; }

json_of() { sqlite3 :memory: "select json_extract(readfile('$1'), '$2')"; }
json() { equal "$(json_of "$T/out" "$1")" "$2" "$1"; }
verdict() { # the start of a claim in the JSON of 'orrery figure run'
    sqlite3 :memory: "select json_extract(value, '\$.verdict') from json_each(readfile('$T/out'))
        where json_extract(value, '\$.claim') like '$1%'"
}
valid_json() { equal "$(sqlite3 :memory: "select json_valid(readfile('$T/out'))")" 1 'valid JSON'; }
sql() { equal "$(sqlite3 "$1" "$2")" "$3" "$2"; }

# A run that fails leaves no database behind, nor its journal.
no_file() {
    for left in "$1" "$1"-journal "$1"-wal "$1"-shm; do
        [ ! -e "$left" ] || complain "it left $left behind"
    done
}

# A scenario of our own with N requests at RATE per second, as $T/serve.json; the rest of it may be given as JSON
# members.
serving() { # N RATE [MEMBERS]
    cat >"$T/serve.json" <<END
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 2},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 4,
                        "trace": {"format": "generate", "count": $1,
                                  "arrival": {"process": "poisson", "rate": "$2/s"}}}}${3:+,
  $3} }
END
}

# Two services and preempted jobs on one cluster, as $T/mixed.json.
mixed() {
    cat >"$T/mixed.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 3},
  "services": {
    "chat":  {"llm": "llama-2-7b", "replicas": 3, "routing": "least-outstanding", "kv": {"blocks": 300},
              "batching": {"policy": "vllm-v0", "max_sequences": 32},
              "trace": {"format": "generate", "count": 800, "max_total_tokens": 4000,
                        "arrival": {"process": "gamma", "rate": "20/s", "cv": 3}}},
    "draft": {"llm": "mistral-7b", "replicas": 2,
              "trace": {"format": "generate", "count": 200, "arrival": {"process": "fixed", "rate": "5/s"}}}},
  "jobs": {"scheduler": "srtf", "placement": "first-fit",
           "trace": {"format": "csv-jobs", "path": "jobs.csv"}},
  "warmup": "2s", "seed": 9 }
END
    awk 'BEGIN { print "submit_s,duration_s,gpus"; for (i = 0; i < 300; i++) print int(i / 3) "," i * 7919 % 97 "," i * 31 % 8 + 1 }' \
        >"$T/jobs.csv"
}

skip() {
    echo "$*"
    exit 77
}

# The scenario that tests of studies vary: 60 requests for two replicas.
studied() {
    cat <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "replicas": 2,
                        "trace": {"format": "generate", "count": 60,
                                  "arrival": {"process": "poisson", "rate": "4/s"}}}} }
END
}

finish() {
    [ $failures = 0 ] && exit 0
    exit 1
}
