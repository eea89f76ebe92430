#!/bin/sh
# --csv and --json give one answer: every cell of the CSV is the value in the JSON, and no value of the table is
# missing.
. tests/cli/lib.sh

# The cells of the JSON table at PATH: row, column, value as spelled. Null is no cell, lists within rows are left out.
json_cells() { # PATH
    sqlite3 :memory: "
        with document as (select readfile('$T/json') as text),
        rows as (select row_number() over (order by r.id) as i, r.key, text -> r.fullkey as row, json_type(text, '$1') as kind
                 from document, json_each(text, '$1') as r),
        cells as (select i, replace(coalesce(nullif(substr(leaf.fullkey, 3), ''), 'value'), '\"', '') as name,
                         case leaf.type when 'text' then leaf.atom else row -> leaf.fullkey end as value
                  from rows, json_tree(row) as leaf where leaf.type not in ('object', 'array', 'null')
                  union all select i, 'name', key from rows where kind = 'object')
        select i, name, value from cells where name not like '%[%' and value <> '' order by 1, 2"
}
csv_cells() {
    sqlite3 :memory: ".import --csv '$T/out' csv" '.mode json' 'select * from csv' >"$T/imported"
    [ -s "$T/imported" ] || echo '[]' >"$T/imported"
    sqlite3 :memory: "
        with rows as (select row_number() over (order by id) as i, value as row from json_each(readfile('$T/imported')))
        select i, key, value from rows, json_each(row) where value <> '' order by 1, 2"
}
agree() { # STATUS PATH VERB...
    status_wanted=$1
    path=$2
    shift 2
    run "$status_wanted" "$@" --json
    cp "$T/out" "$T/json"
    run "$status_wanted" "$@" --csv
    head -1 "$T/out" | grep -q "$(printf '\r')\$" || complain 'its lines do not end in CR LF'
    json_cells "$path" >"$T/wanted"
    csv_cells >"$T/cells"
    [ -s "$T/wanted" ] || complain 'the JSON has no rows'
    cmp -s "$T/wanted" "$T/cells" || { complain 'CSV and JSON differ'; diff "$T/wanted" "$T/cells" | head -5; }
}

for listing in gpus llms engines storage prices policies formats metrics scenarios; do
    agree 0 '$' list $listing
done
agree 0 '$' figure list
agree 0 '$' trace stat traces/samples/chat.csv --format azure-llm
agree 0 '$' conform lru

serving 40 20
agree 0 '$.metrics' run "$T/serve.json" -q -o "$T/results.db"
run 0 run "$T/serve.json" -q -o "$T/results.db" --set services.chat.replicas=2
agree 0 '$.metrics' compare "$T/results.db:1" "$T/results.db:2"
agree 0 '$' export "$T/results.db" --list
agree 0 '$.events' why "$T/results.db:1" request 1
agree 0 '$' explain cost "$T/serve.json"
agree 0 '$' explain config "$T/serve.json"
agree 0 '$' explain cost configs/scenarios/quickstart.json --set services.chat.cost=operators --operators
agree 0 '$' explain links "$T/serve.json"

studied >"$T/base.json"
cat >"$T/study.json" <<'END'
{ "scenario": "base.json", "axes": [{"key": "services.chat.routing", "values": ["round-robin", "random"]}] }
END
cat >"$T/search.json" <<'END'
{ "scenario": "base.json", "search": {"smallest": "services.chat.replicas", "from": 1, "to": 4,
  "where": [{"metric": "request.finished", "at_least": 1}]} }
END
agree 0 '$' sweep "$T/study.json" --dry-run -q
agree 0 '$.points' sweep "$T/study.json" -q --resume -o "$T/study.db"
agree 0 '$.outcomes' sweep "$T/search.json" -q --resume -o "$T/search.db"

run 0 run configs/scenarios/csd-whatif.json -q --csv # the table has no room for warnings
err 'warning: no-energy: '

run 0 check --baseline "$T/gate.json" "$T/serve.json" --update
agree 0 '$.scenarios' check --baseline "$T/gate.json"
agree 1 '$.scenarios' check --baseline "$T/gate.json" "$T/serve.json" --set services.chat.replicas=1

run 2 list gpus --csv --json
err '--csv and --json exclude each other'
finish
