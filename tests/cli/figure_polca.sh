#!/bin/sh
# A row of 40 servers under POLCA (configs/scenarios/polca-row.json), and the same row with 52 on the same power. The load is set by
# PO-1 and PO-2; PO-3 and PO-4 are checked for their shape; PO-5 and whatever is known from memory only is told and not judged.
# Numbers in brackets: what the paper says, from a reading of it (second hand), or from memory.
. tests/cli/lib.sh

metric() { # RUN NAME
    sqlite3 "$T/row.db" "select value from metric where run_id = $1 and name = '$2'"
}
within() { # VALUE LOW HIGH WHAT
    equal "$(awk "BEGIN { print ($1 >= $2 && $1 <= $3) }")" 1 "$4: $1, which should be in $2 to $3: that"
}
quantile() { # RUN SERVICE Q: of the time from arrival to the last token
    sqlite3 "$T/row.db" "with r as (select e2e_s, row_number() over (order by e2e_s) as i, count(*) over () as n from request
        where run_id = $1 and service = '$2' and arrival_s > 600 and status = 'finished')
        select e2e_s from r where i = cast(n * $3 as integer)"
}
ratio() { awk "BEGIN { printf \"%.4f\", $1 / $2 }"; }

row() { # POLICY [MORE]: one more run
    policy=$1
    shift
    run 0 run configs/scenarios/polca-row.json --set "cluster.power.capping=$policy" --set keep=rows \
        "$@" -o "$T/row.db"
}
more() { # POLICY: 52 servers, 1.3 times the load
    row "$1" --set cluster.nodes=52 --set services.low.replicas=26 --set services.high.replicas=26 \
        --set services.low.trace.arrival.rate=4.81/s --set services.high.trace.arrival.rate=7.15/s
}

row none
for policy in none polca brake single-threshold; do more $policy; done

peak=$(metric 1 power.budget_frac.max)
rise=$(metric 1 power.rise_frac.max)
echo "PO-1 peak of the row over its power: $peak (0.79, second hand; sets the load)"
echo "PO-2 largest rise within 40 s: $rise (0.118, second hand; sets the load)"
within "$peak" 0.77 0.81 'peak of the row'
within "$rise" 0.10 0.135 'largest rise'

echo "PO-3 brakes with 52 servers under POLCA: $(metric 3 power.brakes) (0, second hand); peak $(metric 3 power.budget_frac.max)"
equal "$(metric 3 power.brakes)" 0.0 'brakes under POLCA'
within "$(metric 2 power.budget_frac.max)" 1.0 1.1 'peak of 52 servers without a policy'

hp=$(ratio "$(quantile 3 high 0.5)" "$(quantile 2 high 0.5)")
lp=$(ratio "$(quantile 3 low 0.5)" "$(quantile 2 low 0.5)")
echo "PO-4 median latency under POLCA over that without a policy: high priority $hp (< 1.01, second hand), low priority $lp" \
    "(< 1.05, memory); P99 $(ratio "$(quantile 3 high 0.99)" "$(quantile 2 high 0.99)")" \
    "(< 1.05, memory), $(ratio "$(quantile 3 low 0.99)" "$(quantile 2 low 0.99)") (< 1.5, memory)"
within "$(awk "BEGIN { print ($hp < $lp) }")" 1 1 'high priority loses less than low priority'
finished() { sqlite3 "$T/row.db" "select count(*) from request where run_id = $1 and service = '$2' and status = 'finished'"; }
equal "$(finished 3 high)" "$(finished 2 high)" 'requests of high priority that are served'
equal "$(finished 3 low)" "$(finished 2 low)" 'requests of low priority that are served'

echo "PO-5 brakes without POLCA: $(metric 4 power.brakes) with the brake alone, $(metric 5 power.brakes) with one threshold on low" \
    "priority (10 to 10^4 in six weeks, second hand)"
within "$(awk "BEGIN { print ($(metric 4 power.brakes) > $(metric 3 power.brakes)) }")" 1 1 'the brake alone brakes more often'
finish
