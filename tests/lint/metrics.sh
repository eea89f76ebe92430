#!/bin/sh
# Every metric and time series that analysis, the command line and studies name exists: in the dictionary of metrics, or
# among the series that sim/world samples. A name that nothing emits gives an empty table, and no error.
orrery=${ORRERY:-build/orrery}
[ -x "$orrery" ] || { echo "$orrery is not built"; exit 1; }
known=$(mktemp)
trap 'rm -f "$known"' EXIT

# NAME, and for NAME.p99 its distribution NAME; series are quoted in sim/world, as are keys of scenarios.
"$orrery" list metrics | awk 'NR > 1 { print $1; if (sub(/\.(mean|p50|p90|p95|p99|max)$/, "", $1)) print $1 }' >"$known"
families=$(sed 's/\..*//' "$known" | sort -u | tr '\n' '|' | sed 's/|$//')
grep -rhE --include='*.[ch]' '"[a-z]+\.[a-z_.]+"' sim/world | grep -vE 'config_where|place\(' |
    grep -oE '"[a-z]+\.[a-z_.]+"' | tr -d '"' >>"$known"

# Names in strings of C, of SQL and of the reports' script; not behind config_where, nor in files that have keys of
# scenarios.
grep -rnoE --include='*.[ch]' --include='*.sql' --include='*.js' \
    "(config_where\([^\"]*)?[\"']($families)\.[a-z0-9_.]+(\[[^\"']*\])?[\"']" analysis sim/cli sim/study |
    grep -v -e config_where -e '^sim/cli/key_names.c:' -e '^sim/cli/size/size_settings.c:' |
    awk -v known="$known" '
        BEGIN { while ((getline name < known) > 0) is_known[name] }
        {
            name = $0
            sub(/^[^:]*:[^:]*:/, "", name); gsub(/["\047]/, "", name); sub(/\[.*/, "", name); sub(/\.$/, "", name)
            if (!(name in is_known)) { print; wrong = 1 }
        }
        END { exit wrong }' || { echo '^ no such metric or series: see orrery list metrics'; exit 1; }
