#!/bin/sh
# The page of a site with several services, jobs and rented GPUs: each chart has a title of its own and says what it
# leaves out.
. tests/cli/lib.sh

cat >"$T/site.json" <<'END'
{ "cluster": {"nodes": 2, "gpus_per_node": 8, "gpu": "a100-80-sxm"}, "until": "20min",
  "market": {"prices": "verda", "renting": "fixed-fleet"},
  "services": {
    "chat": {"llm": "mistral-7b", "replicas": 2, "slo": {"ttft": "2s"},
             "trace": {"format": "generate", "duration": "20min",
             "arrival": {"process": "poisson", "rate": "3/s"}}},
    "draft": {"llm": "mistral-7b", "replicas": 2, "slo": {"ttft": "1s"},
              "trace": {"format": "generate", "duration": "20min",
              "arrival": {"process": "poisson", "rate": "2/s"}}}},
  "jobs": {"placement": "first-fit", "trace": {"format": "inline-jobs", "jobs": [{"duration": "15min", "gpus": 4},
           {"submit": "1min", "duration": "5min", "gpus": 8}]}} }
END
run 0 run "$T/site.json" --quiet --keep rows -o "$T/site.db"
run 0 report "$T/site.db" -o "$T/site.html"
awk '/<svg / { inside = 1 }
     inside && match($0, /<title>[^<]*/) { print substr($0, RSTART + 7, RLENGTH - 7); inside = 0 }' \
    "$T/site.html" >"$T/titles"
title() { grep -qx "$1" "$T/titles" || { complain "no chart '$1'"; cat "$T/titles"; }; }
no_title() { ! grep -qx "$1" "$T/titles" || complain "a chart '$1'"; }

# Titles differ: those of replicas name the quantity, too.
equal "$(sort "$T/titles" | uniq -d)" '' 'titles of several charts'
title 'Requests waiting, per replica: chat/0'
title 'KV cache in use, per replica: draft/1'
run 0 report "$T/site.db" --chart 'Requests in the batch, per replica: draft/0' -o "$T/one.svg"
holds "$T/one.svg" '<title>Requests in the batch, per replica: draft/0</title>'
run 2 report "$T/site.db" --chart draft/0 -o "$T/none.svg"
err "the page has no chart 'draft/0'"

# Of rented GPUs of one type, those in use are one curve, in one chart.
title 'GPUs rented and in use, by type'
no_title 'GPUs in use'
run 0 run "$T/site.json" --set market=null --quiet --keep rows -o "$T/owned.db"
run 0 report "$T/owned.db" --chart 'GPUs in use' -o "$T/owned.svg"

# The first token of each service, with its own limit.
for of in 'chat 2' 'draft 1'; do
    title "Time to first token of ${of% *}, by time of arrival"
    run 0 report "$T/site.db" --chart "Time to first token of ${of% *}, by time of arrival"
    out "SLO ${of#* } s"
    equal "$(grep -o 'SLO [^<]*' "$T/out" | sort -u)" "SLO ${of#* } s" 'limits'
done
no_title 'Time to first token, by time of arrival'

# Limits of one chart have dashes of their own.
run 0 report "$T/site.db" --chart 'Time to first token'
out 'SLO of chat 2 s'
out 'SLO of draft 1 s'
dashes=$(grep -o 'stroke="#[0-9a-f]*" stroke-width="1.2" stroke-dasharray="[0-9 ]*"' "$T/out" | sort | uniq -c)
equal "$(echo "$dashes" | awk '{ print $1 }' | tr '\n' ' ')" '2 2 ' \
    'dashes of two limits, each in the data and in the legend'

# Jobs on GPUs: what is white.
holds "$T/site.html" 'White: no job holds them. Services may.'
run 0 run philly-cluster --quiet --set until=3d -o "$T/jobs.db"
run 0 report "$T/jobs.db" -o "$T/jobs.html"
! grep -q 'Services may' "$T/jobs.html" || complain 'services of a run without any'
finish
