#!/bin/sh
# Results that cannot be written or read: the path, what is wrong, exit status 3, and nothing half-written.
. tests/cli/lib.sh

serving 50 5
refused() { # PATH TEXT
    run 3 run "$T/serve.json" -o "$1"
    echo "$2" | sed "s|@|$1|g" >"$T/wanted"
    err_is <"$T/wanted"
    [ ! -s "$T/out" ] || complain 'something on standard output'
}

refused "$T/nowhere/x.db" '@: error: cannot create results: No such file or directory; create the directory first'
no_file "$T/nowhere"
refused "$T" '@: error: cannot open results: is a directory; name a file in it, such as results.db'
if [ "$(id -u)" != 0 ]; then
    mkdir "$T/closed"
    chmod 500 "$T/closed"
    refused "$T/closed/x.db" '@: error: cannot create results: Permission denied; name a file elsewhere with -o'
fi

# A file that is something else stays as it is.
untouched() { # FILE TEXT
    before=$(cksum <"$1")
    refused "$1" "$2"
    equal "$(cksum <"$1")" "$before" "contents of $1"
}
yes 'this is no database' | head -c 10000 >"$T/text.db"
move='name another file with -o, or move this one away'
untouched "$T/text.db" "@: error: cannot open results: file is not a database; $move"
sqlite3 "$T/other.db" 'create table run(a)'
untouched "$T/other.db" "@: error: not a results database: this file belongs to another program; $move"
run 0 run "$T/serve.json" -o "$T/newer.db"
sqlite3 "$T/newer.db" 'pragma user_version = 999'
untouched "$T/newer.db" "@: error: results have schema version 999, expected 7; $move"

# A damaged results database.
run 0 run "$T/serve.json" -o "$T/bad.db"
bytes=$(wc -c <"$T/bad.db")
yes garbage | dd of="$T/bad.db" bs=1 seek=4096 count=$((bytes - 8192)) conv=notrunc 2>/dev/null
untouched "$T/bad.db" "@: error: cannot open results: database disk image is malformed; $move"

# Nothing to repeat.
run 3 run --from "$T/nowhere.db:1"
err_is <<END
$T/nowhere.db: error: cannot open results: No such file or directory; name a file that a run with -o wrote
END
run 3 run --from "$T/text.db:1"
err "$T/text.db: error: cannot open results: file is not a database"
run 0 run "$T/serve.json" -o "$T/good.db"
run 3 run --from "$T/good.db:7"
err_is <<END
$T/good.db: error: no run 7; 'orrery runs' lists the runs of a file
END
# Names in a database from elsewhere do not act on the terminal; in files and pipes, data stay as they are.
quiet() { LC_ALL=C grep -q "$(printf '\033')" "$1" && complain "an escape character in $1"; }
for i in 1 2 3; do run 0 run configs/scenarios/quickstart.json --set seed=$i --set until=1s -o "$T/names.db" -q; done
sqlite3 "$T/names.db" "update metric set name = name || char(27) || '[2J'; update run set name = 'x' || char(27) || ']0;y' || char(7)"
run 0 compare "$T/names.db:1" "$T/names.db:2"
out '\x1b[2J'
quiet "$T/out"
"$ORRERY" export "$T/names.db" metric >"$T/out" 2>"$T/err"
LC_ALL=C grep -q "$(printf '\033')" "$T/out" || complain 'exported data are changed'
echo '{"jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "1s"}]}}}' >"$T/$(printf 'a\033[2J').json"
run 0 validate "$T/$(printf 'a\033[2J').json"
out 'a\x1b[2J.json: ok'

# A terminal gets exported data with their names escaped.
if ! script -qec true /dev/null >/dev/null 2>&1; then
    [ $failures = 0 ] && skip 'no pseudo-terminal: export to a terminal was not looked at'
    finish
fi
last='export to a terminal'
script -qec "$ORRERY export $T/names.db metric" "$T/typed" >/dev/null
grep -q 'x1b.2J' "$T/typed" || complain 'the terminal shows no names'
sed -i 1d "$T/typed"
quiet "$T/typed"
finish
