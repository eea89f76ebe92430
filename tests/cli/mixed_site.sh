#!/bin/sh
# The mixed site, some hours of it: GPUs by use add up, jobs yield and nobody else does, replicas follow the load, and
# the page and the timeline tell of it.
. tests/cli/lib.sh

run 0 run mixed-site -o "$T/short.db" --timeline "$T/short.json" --timeline-sample 1/100 --set until=20min -q
run 0 report "$T/short.db" -o "$T/short.html"
optimised
run 0 run mixed-site -o "$T/site.db" --timeline "$T/site.json" --timeline-sample 1/1000 --set until=3h \
    --set services.chat.trace.arrival.rate=20/s --set jobs.trace.rate_scale=1 --keep decisions -q
grep -qE '^jobs .* yields to replicas' "$T/out" || complain 'no yields in the summary'
[ "$(awk '/^metric/ { on = 1 } /^warning/ { exit } on && NF' "$T/out" | wc -l)" -le 16 ] || complain 'a long summary'

# Unfinished jobs that have waited longer than any that ended are told.
waited=$(sqlite3 "$T/site.db" "with m as (select max(iif(name = 'sim.end_s', value, null)) as end_s,
    max(iif(name = 'job.wait_s.max', value, null)) as most_s from metric) select count(*) from job, m
    where status = 'unfinished' and submit_s >= 600 and m.end_s - submit_s - gpu_s / gpus > most_s + 1e-3")
[ "$waited" -gt 0 ] || complain 'no unfinished job has waited longest'
grep -q "^jobs .* of which $waited ha" "$T/out" || complain "the summary does not tell of $waited jobs that wait on"

metric() { # NAME
    sqlite3 "$T/site.db" "select value from metric where name = '$1'"
}
near() { # WHAT A B: equal but for rounding
    awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; exit !(d < 1e-6 * a && -d < 1e-6 * a) }' || complain "$1: $2 and $3"
}

# Four replicas of the assistant hold a GPU each, all the time.
end=$(metric sim.end_s)
near 'GPU time by use' "$(metric cluster.gpus_in_use.mean | awk -v s="$end" '{ printf "%.17g", $1 * s }')" \
    "$(printf '%s %s %s\n' "$(metric job.gpu_s.sum)" "$(metric scaling.gpu_s.sum)" "$end" |
        awk '{ printf "%.17g", $1 + $2 + 4 * $3 }')"
sql "$T/site.db" "select max(t) <= 64 from (select sum(value) as t from sample where series = 'cluster.gpus_by_use' group by t_s)" 1
sql "$T/site.db" "select max(abs(a.t - b.value)) < 1e-9 from sample b join (select t_s, sum(value) as t from sample where
    series = 'cluster.gpus_by_use' group by t_s) a using (t_s) where b.series = 'cluster.gpus_in_use'" 1

# No node has more GPUs than eight at any start of a job, and pretraining never yields.
sql "$T/site.db" "select count(*) from placement p where (select sum(gpus) from placement q where q.node = p.node and
    q.start_s <= p.start_s and q.end_s > p.start_s) > 8" 0
sql "$T/site.db" "select count(*) > 5 from decision where action = 'interrupt' and reason like 'yields to a service%'" 1
sql "$T/site.db" "select max(value) > 4 from sample where series = 'service.replicas' and entity = 'chat'" 1
sql "$T/site.db" "select count(*) from request where status = 'rejected'" 0

# The site keeps to its power, no breaker trips, and its 64 GPUs are paid for from the start to the end.
sql "$T/site.db" "select count(*) > 100 and max(value) < 42000 from sample where series = 'power.site_w'" 1
sql "$T/site.db" "select value from metric where name = 'power.breaker_trips'" 0.0
near 'dollars' "$(metric cost.usd)" "$(awk -v s="$end" 'BEGIN { printf "%.17g", 64 * 1.29 * s / 3600 }')"
near 'energy' "$(metric energy.site_j)" "$(metric power.site_w.mean | awk -v s="$end" '{ printf "%.17g", $1 * s }')"

run 0 report "$T/site.db" -o "$T/site.html"
for words in 'GPUs by use' 'Replicas up, per service that scales' 'Jobs waiting' 'Jobs on nodes'; do
    grep -q "$words" "$T/site.html" || complain "the page does not show: $words"
done
grep -q '"service chat"' "$T/site.json" || complain 'the timeline has no service'

# The example of README.md shows what the site is for: jobs wait and yield to the chat service, POLCA lowers clocks and
# no brake is needed. The page links to the same site with failures.
call=$(sed -n 's,^build/orrery run mixed-site \(.*\) -o site.db$,\1,p' README.md)
run 0 run mixed-site $call --interval never -q -o "$T/example.db"
at_least() { # METRIC VALUE
    sql "$T/example.db" "select value >= $2 from metric where name = '$1'" 1
}
at_least job.wait_s.max 60
at_least scaling.yielded_jobs.sum 1
sql "$T/example.db" "select count(*) > 5 from decision where action like 'lock %'" 1
sql "$T/example.db" "select value from metric where name = 'power.brakes'" 0.0
grep -q '](configs/scenarios/failing-site.json)' README.md || complain 'failing-site is not linked'
finish
