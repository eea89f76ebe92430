#!/bin/sh
# What orrery explain tells: where values come from, what iterations cost, the schema of scenarios.
. tests/cli/lib.sh

# config: every value with its place, and the defaults as such.
serving 50 5 '"warmup": "1s"'
run 0 explain config "$T/serve.json" --set services.chat.replicas=3
grep -qE "^warmup +1s +$T/serve.json:5:13" "$T/out" || complain 'a value of the file'
grep -qE '^services.chat.replicas +3 +--set services.chat.replicas ' "$T/out" || complain 'a value of --set'
grep -qE '^seed +1 +default ' "$T/out" || complain 'a default'

# For programs the values are rows, as many as lines.
wc -l <"$T/out" >"$T/lines"
run 0 explain config "$T/serve.json" --set services.chat.replicas=3 --json
json '$[0].key' name
sql :memory: "select count(*) - $(cat "$T/lines"), sum(value ->> 'key' = 'services.chat.replicas' and value ->> 'value' = '3'
    and value ->> 'where' = '--set services.chat.replicas') from json_each(readfile('$T/out'))" '0|1'

run 0 explain cost "$T/serve.json"

# schema: JSON that ends, with every top-level key of a resolved scenario; each reference has its target.
run 0 explain schema
cp "$T/out" "$T/schema.json"
valid_json
[ "$(wc -c <"$T/schema.json")" -lt 550000 ] || complain 'a schema of over 550 kB'
run 0 run "$T/serve.json" --dump-config
equal "$(sqlite3 :memory: "select group_concat(d.key) from json_each(readfile('$T/out')) d
    left join json_each(readfile('$T/schema.json'), '\$.properties') s on s.key = d.key where s.key is null")" '' \
    'keys that the schema lacks'
equal "$(sqlite3 :memory: "select group_concat(value) from json_tree(readfile('$T/schema.json')) t
    where t.key = '\$ref' and not exists (select 1 from json_each(readfile('$T/schema.json'), '\$.\$defs') d
                                          where t.value = '#/\$defs/' || d.key)")" '' 'references to nothing'

# What does not belong to a topic is not ignored.
run 2 explain schema --json
err_is <<'END'
error: the schema is JSON: '--json', '--csv' and '--latex' do not apply; leave it out
END
for more in "$T/serve.json" --set=seed=1; do
    run 2 explain schema $more
    err_is <<'END'
error: the schema is the same for all scenarios; leave out SCENARIO and --set
END
done
finish
