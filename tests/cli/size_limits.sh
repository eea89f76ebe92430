#!/bin/sh
# orrery size: what it says of the fleet that is one replica too small, against a run of that fleet.
. tests/cli/lib.sh

# The fleet of $T/asked.json, field limit[$1], as $T/fewer.json: the fleet of the study beside it with other replicas.
fewer() { # LIMIT
    set -- $(sqlite3 :memory: "select value ->> 'replicas', value ->> 'prefill' from json_each(readfile('$T/asked'), '\$.limit')
        where key = $1" | tr '|' ' ')
    scenario=$T/scenario.json
    grep -v '^//' "$T/asked.scenario.json" >"$scenario" # JSON without comments, for any sqlite3
    sqlite3 :memory: "select json_set(readfile('$scenario'), '\$.cluster',
        json_extract(readfile('$T/asked.json'), '\$.axes[0].zip.cluster[0]'), '\$.services.llm',
        json_patch(json_extract(readfile('$scenario'), '\$.services.llm'),
            json_extract(readfile('$T/asked.json'), '\$.axes[0].zip.\"services.llm\"[0]')))" >"$T/fewer.json"
    if [ "$2" = 0 ]; then
        sed -i "s/\"replicas\":[0-9]*/\"replicas\":$1/" "$T/fewer.json"
    else
        sed -i "s/\"prefill\":{\"role\":\"prefill\",\"replicas\":[0-9]*}/\"prefill\":{\"role\":\"prefill\",\"replicas\":$2}/
            s/\"decode\":{\"role\":\"decode\",\"replicas\":[0-9]*}/\"decode\":{\"role\":\"decode\",\"replicas\":$(($1 - $2))}/" "$T/fewer.json"
    fi
}

# Of limit[$1], the shares of time, the missed value and the word are those of a run of that fleet. Its pool has the
# replicas $2 <= r < $3. In a timeline their iterations have a name by what they hold.
compare() { # LIMIT FROM TO
    fewer "$1"
    rm -f "$T/fewer.db"
    run 0 run "$T/fewer.json" -o "$T/fewer.db" --timeline "$T/fewer.timeline" -q
    missed=$(json_of "$T/asked" "\$.limit[$1].missed")
    sqlite3 :memory: "create table span as select value ->> 'name' as name, value ->> 'tid' - 1 as replica, value ->> 'ts' as from_us,
            value ->> 'dur' as lasts_us from json_each(readfile('$T/fewer.timeline'), '\$.traceEvents')
            where value ->> 'ph' = 'X' and value ->> 'name' in ('decode', 'prefill', 'prefill + decode');
        select total(lasts_us) filter (where name <> 'decode' and replica between $2 and $3 - 1) / end_us / ($3 - $2),
            total(lasts_us) filter (where name = 'decode' and replica between $2 and $3 - 1) / end_us / ($3 - $2)
            from span, (select max(from_us + lasts_us) as end_us from span)" >"$T/spans"
    for part in prompts:1 decoding:2; do
        sql :memory: "select abs($(json_of "$T/asked" "\$.limit[$1].${part%:*}_frac") - $(cut -d'|' -f${part#*:} "$T/spans")) < 1e-6" 1
    done
    sql :memory: "select abs(value ->> 'busy_frac' - (value ->> 'prompts_frac') - (value ->> 'decoding_frac')) < 1e-9
        and (value ->> 'short_of' is 'KV cache') = (value ->> 'kv_peak_frac' >= 0.95)
        from json_each(readfile('$T/asked'), '\$.limit') where key = $1" 1
    sql "$T/fewer.db" "select abs(value / $(json_of "$T/asked" "\$.limit[$1].value_s") - 1) < 0.01 from metric
        where name = 'request.${missed% *}_s.${missed#* }'" 1
    [ "$2" != 0 ] || [ "$(json_of "$T/asked" "\$.limit[$1].prefill")" != 0 ] ||
        sql "$T/fewer.db" "select abs(value - $(json_of "$T/asked" "\$.limit[$1].busy_frac")) < 1e-9 from metric
            where name = 'replica.busy_frac'" 1
}

ask() { # OPTIONS...
    run 0 size llama-3.1-8b --requests 300 --gpu h100-sxm -q --json --study "$T/asked.json" "$@"
    cp "$T/out" "$T/asked"
}

says() { equal "$(json_of "$T/asked" "$1")" "$2" "$1"; }

# A TPOT that is missed while replicas have time left. Prompts and decoding share iterations; no word for what is short.
ask --rate 90/s --max-gpus 4 --slo ttft.p99=0.3s --slo tpot.p99=40ms
compare 0 0 3
says '$.limit[0].missed' 'tpot p99'
says '$.limit[0].short_of' ''
sql :memory: "select $(json_of "$T/asked" '$.limit[0].prompts_frac') > 0.1 and $(json_of "$T/asked" '$.limit[0].decoding_frac') > 0.1" 1
run 0 size llama-3.1-8b --requests 300 --gpu h100-sxm -q --rate 90/s --max-gpus 4 --slo ttft.p99=0.3s --slo tpot.p99=40ms
! grep -q 'short of' "$T/out" || complain 'it names what no run says'

# Pools: the replicas of the one that lost a replica alone.
ask --rate 24/s --prompt 4000 --output-tokens 20 --max-gpus 8 -d --slo ttft.p99=0.9s --slo tpot.p99=12ms
says '$.limit[0].prefill' 2
compare 0 0 2
says '$.limit[0].decoding_frac' 0

# Pools of any size, also where five process prompts: within seven GPUs nothing else is enough, nor is one fewer.
run 0 size llama-3.1-8b --requests 400 --gpu h100-sxm -q --rate 50/s --prompt 4000 --output-tokens 50 --max-gpus 7 -d \
    --slo ttft.p99=0.9s --slo tpot.p99=12ms
out ': 5 prefill and 2 decode replicas of TP 1'
! grep -q 'the limits are kept, too' "$T/out" || complain 'a smaller fleet keeps the limits'

# A full KV cache.
ask --rate 40/s --requests 1000 --prompt 100 --output-tokens 3000 --max-gpus 8 --slo ttft.p99=1s
compare 0 0 3
says '$.limit[0].short_of' 'KV cache'
holds "$T/asked" 's of 1 s, short of KV cache: 100 % of'

# The line of the arrivals asks how they are drawn, not which settings were given.
arrivals() { # TEXT ('': no line), SETTINGS...
    text=$1
    shift
    run 0 size llama-3.1-8b --requests 60 --rate 12/s --gpu h100-sxm --max-gpus 1 -q --slo ttft.p99=2s "$@"
    equal "$(sed -n 's/^  arrivals: \([^;]*\);.*/\1/p' "$T/out")" "$text" "arrivals with $*"
}
arrivals 'Poisson, at 12/s'
arrivals 'Poisson, at 6/s' --set services.llm.trace.thin=0.5
arrivals 'Poisson, at 12/s' --set services.llm.trace.arrival.process=poisson
arrivals 'Poisson, at 24/s' --set services.llm.trace.rate_scale=2
arrivals 'Poisson, at 12/s' --set services.llm.trace.limit=50
arrivals '' --set services.llm.trace.arrival.process=gamma --set services.llm.trace.arrival.cv=3
arrivals '' --set 'services.llm.trace.classes={"a": {"share": 1}, "b": {"arrival": {"process": "fixed", "rate": "1/s"}}}'

# Errors of kernels are those of the cost model and the calibration in force, or not known.
sure() { # TEXT SETTINGS...
    text=$1
    shift
    run 0 size llama-3.1-8b --requests 60 --rate 12/s --gpu h100-sxm --max-gpus 1 -q --slo ttft.p99=2s "$@"
    equal "$(sed -n 's/^  how sure: .*h100-sxm: //p' "$T/out")" "$text" "errors with $*"
}
sure 'median error of held-out kernels 6 % (products), 4 % (attention)'
sure 'no error of held-out kernels is known of the cost model roofline' --set services.llm.cost.kind=roofline
sure 'no error of held-out kernels is known, as the settings name a calibration' --set services.llm.cost.calibration=h200-sxm

# Dollars per million output tokens: the price of the fleet over the time in which the load arrives.
run 0 size llama-3.1-8b --requests 60 --rate 12/s --prompt 2500 --output-tokens 100 --gpu h100-sxm --max-gpus 2 -q --json --slo ttft.p99=2s
sql :memory: "select count(*) > 1, max(abs(value ->> 'usd_per_million_output' * $(json_of "$T/out" '$.requests')
    * $(json_of "$T/out" '$.output_tokens_mean') / 1e6 / (value ->> 'usd_per_h' / 3600 * $(json_of "$T/out" '$.span_s')) - 1)) < 1e-6
    from json_each(readfile('$T/out'), '\$.best')" '1|1'
json '$.usd_per_million_output' "$(json_of "$T/out" '$.best[0].usd_per_million_output')"
grep -q '"cost: \$[0-9.]* per million output tokens of this load, with 25 million prompt tokens for each"' "$T/out" || complain 'no line of the cost'

# Another GPU without a fleet has a bound of its price, or null where no number of these GPUs is enough.
run 0 size llama-3.1-8b --requests 60 --rate 12/s -q --json --slo ttft.p99=200ms --max-gpus 4
cp "$T/out" "$T/asked"
other() { # GPU, NULL: 1 or 0, TEXT
    sql :memory: "select json_type(value, '\$.at_least_usd_per_h') is 'null', value ->> 'text' like '%$3%' from
        json_each(readfile('$T/asked'), '\$.others') where value ->> 'gpu' = '$1'" "$2|1"
}
# The cheapest first.
sql :memory: "with o as (select key, coalesce(value ->> 'usd_per_h', 1e6 + (value ->> 'at_least_usd_per_h'), 1e9) as place
    from json_each(readfile('$T/asked'), '\$.others'))
    select count(*) > 2, (select count(*) from o a join o b on a.key < b.key and a.place > b.place) from o" '1|0'
other b300-sxm 0 'at least $14.32/h, more than the fleets listed'
other a10g 1 'closed form'
other l4 1 'misses the limits; longest within them'

# The warnings are those of a run of the fleet, but for those that the answer says in its own words: rows that the
# trace leaves out, settings without effect. They are in every form, and also where no fleet is found.
printf 'arrival_s,prompt_tokens,output_tokens\n0,6000,100\n1,,100\n2,6000,100\n3,6000,0\n4,6000,100\n' >"$T/bad.csv"
warned() { # LIMIT OPTIONS...
    limit=$1
    shift
    run 0 size llama-3.1-8b -t "$T/bad.csv" -f csv --slo ttft.p95=$limit -g h100-sxm --max-gpus 1 -q \
        -s services.llm.trace.allow_bad_rows=3 -s services.llm.kv.prefix_cache=lru "$@"
}
warned 10s --study "$T/bad.json" --page "$T/bad.html"
sed -n 's/^warning: //p' "$T/out" >"$T/warned"
equal "$(grep -cE '^(bad-row|no-output|no-prefixes): ' "$T/warned")" 3 'warnings of the load'
equal "$(grep -c '^<li>[a-z-]*: service ' "$T/bad.html")" "$(wc -l <"$T/warned")" 'warnings of the page'
run 0 sweep "$T/bad.json" -o "$T/bad.db" -q
sqlite3 "$T/bad.db" "select distinct code || ': ' || text || iif(count > 1, ' (' || count || ' times)', '') from warning
    where run_id = 1 and code not in ('engine', 'extrapolated', 'unpriced')" | sort >"$T/of_run"
sort "$T/warned" | cmp -s - "$T/of_run" || complain "warnings $(cat "$T/warned"), of the run $(cat "$T/of_run")"
warned 10s --json
sql :memory: "select count(*) from json_each(readfile('$T/out'), '\$.warnings') where value ->> 'code' in
    ('bad-row', 'no-output', 'no-prefixes') and value ->> 'count' = 1" 3
warned 10s --csv
sed -n 's/^warning: \([a-z-]*: .*\)/\1/p' "$T/err" | sort | cmp -s - "$T/of_run" || complain 'the warnings beside CSV'
warned 1us
equal "$(grep -cE '^warning: (bad-row|no-output): ' "$T/out")" 2 'warnings of the load without a fleet'

# Requests longer than the LLM's context are rejected by every fleet: no search where these alone miss a limit.
awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens"
    for (i = 0; i < 100; i++) print i ",100," (i < 10 ? 1949 : 1948) }' >"$T/long.csv"
run 0 size phi-2 --trace "$T/long.csv" --slo ttft.p90=10s -g h100-sxm --max-gpus 1 -q
run 2 size phi-2 --trace "$T/long.csv" --slo ttft.p91=10s -g h100-sxm --max-gpus 1 -q
err "10 % of the requests that 'ttft p91' counts are longer than the context of phi-2, 2048 tokens: every fleet rejects them"
err '--set services.llm.trace.max_total_tokens=2048'
run 0 size phi-2 --trace "$T/long.csv" --slo ttft.p91=10s -g h100-sxm --max-gpus 1 -q --set services.llm.trace.max_total_tokens=2048

# 45 of 100 may exceed a p55, though 0.55 * 100 is above 55 in doubles.
awk 'BEGIN { print "arrival_s,prompt_tokens,output_tokens"
    for (i = 0; i < 100; i++) print i ",100," (i < 45 ? 1949 : 20) }' >"$T/long.csv"
run 0 size phi-2 --trace "$T/long.csv" --slo ttft.p55=10s -g h100-sxm --max-gpus 1 -q
run 2 size phi-2 --trace "$T/long.csv" --slo ttft.p56=10s -g h100-sxm --max-gpus 1 -q

# An engine has the schedulers of its time alone, with the parameters of its preset.
of_engine() { # ENGINE POLICIES PARAMETER
    run 0 size llama-3.1-8b --requests 60 --rate 5/s --gpu h100-sxm --max-gpus 1 -q --csv --slo ttft.p99=2s \
        --set services.llm.cost.engine="$1" --study "$T/engine.json"
    equal "$(tr -d '\r' <"$T/out" | awk -F, 'NR > 1 { print $8 }' | sort -u)" "$2" "batching with $1"
    run 0 sweep "$T/engine.json" -q -o "$T/$1.db"
    sql "$T/$1.db" "select distinct scenario ->> '$3' from run" 1
}
of_engine vllm-0.19 vllm-v1 '$.services.llm.batching.async'
of_engine vllm-0.2 vllm-v0 '$.services.llm.batching.padded'
finish
