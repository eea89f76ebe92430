#!/bin/sh
# A disk that is full: exit status 3, and nothing left behind. faults.sh makes the system say so at each write.
. tests/cli/lib.sh

serving 20000 50
mkdir "$T/disk"

[ "$(id -u)" = 0 ] || skip 'a full disk needs root, to mount a small one'
mount -t tmpfs -o size=1m orrery-test "$T/disk" 2>/dev/null || skip 'a full disk needs the right to mount a small one'
trap 'umount "$T/disk"' EXIT
run 3 run "$T/serve.json" -o "$T/disk/x.db"
err_is <<END
$T/disk/x.db: error: cannot end the run: database or disk is full; free some space, name a file elsewhere with -o, keep less (--set keep=metrics), or raise --results-limit
END
no_file "$T/disk/x.db"

# Appending to what is there: the run before survives.
serving 50 5
run 0 run "$T/serve.json" -o "$T/disk/y.db"
serving 20000 50
run 3 run "$T/serve.json" -o "$T/disk/y.db"
sql "$T/disk/y.db" 'select count(*), min(status) from run' '1|done'
sql "$T/disk/y.db" 'select count(*) from request' 50
sql "$T/disk/y.db" 'pragma integrity_check' ok
finish
