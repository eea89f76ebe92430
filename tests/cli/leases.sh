#!/bin/sh
# The table of leases: its bills add up to the run's, also in merged shards, and the hash covers it.
. tests/cli/lib.sh

cat >"$T/spot.json" <<END
{ "cluster": {"nodes": 2, "gpus_per_node": 4}, "market": {"renting": "as-asked", "offers":
    {"gpu": {"price": "\$3.6/h", "billing": "10s", "kind": "spot", "spot": {"mean_life": "30s"}}}},
  "jobs": {"trace": {"format": "inline-jobs", "jobs": [
    {"duration": "95s", "gpus": 3}, {"duration": "5s", "gpus": 2}, {"duration": "1s", "gpus": 8}]}} }
END

run 0 run rent-on-a-budget --set jobs.trace.count=500 --set keep=rows -o "$T/rent.db"
sql "$T/rent.db" "select sum(cost_uusd) - (select cast(round(value * 1e6) as integer) from metric where name = 'cost.usd') from lease" 0
sql "$T/rent.db" "select count(*), min(offer), max(kind), min(use), max(fate), min(node) from lease" '500|gpu|on-demand|jobs|returned|-1'
sql "$T/rent.db" "select count(*) from lease join job on job.id = lease.job
    where abs(job.gpu_s - lease.gpus * (lease.end_s - lease.start_s)) > 1e-6 * job.gpu_s" 0
sql "$T/rent.db" "select count(*) from lease where cost_uusd <> round(quanta * gpus * usd_per_h / 3600 * 1e6)" 0
run 0 run --from "$T/rent.db"
err 'the result hash is that of run 1 and of its rows'
sqlite3 "$T/rent.db" 'update lease set cost_uusd = cost_uusd + 1 where rowid = 7'
run 1 run --from "$T/rent.db"
err 'rows'

# Over time: what is rented and in use, and the bill.
sql "$T/rent.db" "select count(distinct entity) from sample where series = 'rental.gpus'" 2
sql "$T/rent.db" "with last as (select t_s, value from sample where series = 'cost.usd' order by t_s desc limit 1)
    select abs(value - (select sum(gpus * usd_per_h / 3600 * cast(min(end_s, t_s) - start_s + 0.999999999 as integer))
    from lease where start_s < t_s)) < 0.01 from last" 1
run 0 run "$T/spot.json" --timeline "$T/spot.trace"
grep -q '"name":"cost.usd gpu"' "$T/spot.trace" || complain 'no bill in the timeline'
if grep -q 'service GPUs' "$T/spot.trace"; then complain 'rented GPUs are no service'; fi
run 0 report "$T/rent.db" -o "$T/rent.html"
grep -q 'GPUs rented and in use, by type' "$T/rent.html" || complain 'no figure of rented GPUs'
grep -q 'Bill so far, by offer' "$T/rent.html" || complain 'no figure of the bill'

# On nodes: where the GPUs are, and spot leases that end before their time.
run 0 run "$T/spot.json" -o "$T/spot.db"
sql "$T/spot.db" "select count(*) > 3 and sum(fate = 'lost') = count(*) - 3 and sum(cost_uusd) = (select round(value * 1e6) from metric
    where name = 'cost.usd') and sum(fate = 'lost') = (select value from metric where name = 'rental.interruptions') from lease" 1
sql "$T/spot.db" "select count(*) from lease where quanta <> cast((end_s - start_s) / 10 as integer) + 1" 0
sql "$T/spot.db" "select count(*) from lease join placement p using (job) where lease.node >= 0 and p.start_s = lease.start_s
    and p.node <> lease.node" 0
sql "$T/spot.db" "select distinct node from lease where job = 2" -1
sql "$T/spot.db" "select node from lease where job = 0 order by start_s limit 1" 0

# A file without the table.
cat >"$T/study.json" <<END
{ "name": "leases", "question": "?", "scenario": "spot.json", "axes": [{"key": "market.renting", "values": ["as-asked", "fixed-fleet"]}],
  "set": {"market.offers.gpu.kind": "on-demand"}, "keep": "rows" }
END
run 0 sweep "$T/study.json" --shard 1/2 -o "$T/one.db"
run 0 sweep "$T/study.json" --shard 2/2 -o "$T/two.db"
run 0 merge "$T/one.db" "$T/two.db" -o "$T/all.db"
sql "$T/all.db" "select count(*) from (select 1 from lease group by run_id having sum(cost_uusd) =
    (select round(value * 1e6) from metric m where m.run_id = lease.run_id and name = 'cost.usd'))" 2

# The bill beside what was held: a fleet that replicas fill is held as long as it is leased; one that they fill in part
# is leased for longer. The summary has both.
fleet() {
    cat <<EOF
{"cluster": {"gpu": "a100-80-sxm", "nodes": 1, "gpus_per_node": 4}, "seed": 1,
 "market": {"prices": "verda", "offers": {"site": {"gpu": "a100-80-sxm"}}, "renting": "fixed-fleet"},
 "services": {"chat": {"llm": "llama-3.1-8b", $1, "trace": {"format": "generate", "count": 300,
  "arrival": {"process": "poisson", "rate": "2/s"}, "prompt": {"distribution": "fixed", "tokens": 500},
  "output": {"distribution": "fixed", "tokens": 50}}}}}
EOF
}
held() { # KIND SETTING SIGN: GPU hours leased against those held
    fleet "$2" >"$T/fleet.json"
    run 0 run "$T/fleet.json" --quiet --interval never -o "$T/$1.db"
    hours="printf('%.4g', value * (select value from metric where name = 'sim.end_s') / 3600)"
    sql "$T/$1.db" "select sum(value) filter (where name = 'rental.gpus.mean') $3
        sum(value) filter (where name = 'cluster.gpus_in_use.mean') from metric" 1
    leased=$(sqlite3 "$T/$1.db" "select $hours from metric where name = 'rental.gpus.mean'")
    used=$(sqlite3 "$T/$1.db" "select $hours from metric where name = 'cluster.gpus_in_use.mean'")
    out ", $leased GPU h leased, before rounding up, $used of them held"
}
held filled '"replicas": 4' =
held part '"replicas": 3' '>'
held scaled '"replicas": 1, "scaling": {"policy": "target-outstanding", "min": 1, "max": 4}' '>'

finish
