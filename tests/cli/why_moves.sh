#!/bin/sh
# The life of a request whose KV is handed over, or that decodes as several sequences, agrees with its row.
. tests/cli/lib.sh

# of WHAT: the sum of the numbers that begin the texts of such events of a story in JSON. n WHAT: how many there are.
of() { sqlite3 :memory: "select coalesce(sum(cast(value ->> 'text' as integer)), 0) from json_each(readfile('$T/out'), '\$.events')
    where value ->> 'what' = '$1'"; }
n() { sqlite3 :memory: "select count(*) from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = '$1'"; }
at() { sqlite3 :memory: "select max(value ->> 't_s') from json_each(readfile('$T/out'), '\$.events') where value ->> 'what' = '$1'"; }
near() { sql :memory: "select abs(($1) - ($2)) <= $3" 1; } # VALUE EXPECTED TOLERANCE

# All KV of the prompt moves; all tokens but those of the prompt's pieces are decoded at the other replica, in the time
# from the iteration that the request joins to its end; events are in the order of their times.
told() { # DB KV_BYTES_PER_TOKEN CONDITION
    some=
    for id in $(sqlite3 "$1" "select id from request where $3 order by e2e_s desc limit 3"); do
        row() { sqlite3 "$1" "select $2 from request where id = $id"; }
        some=$id
        run 0 why "$1" request "$id" --json
        valid_json
        near "$(of decoded) + $(n prefill) - $(n chunk)" "$(row "$1" output_tokens)" 0
        near "$(at prefill)" "$(row "$1" 'arrival_s + ttft_s')" 1e-9
        equal "$(n taken) $(n arrived)" '1 1' "events of request $id"
        sql :memory: "select count(*) from (select value ->> 't_s' as t_s, lag(value ->> 't_s') over (order by key) as before
            from json_each(readfile('$T/out'), '\$.events')) where t_s < before" 0
        joined=$(at joins)
        run 0 why "$1" request "$id"
        sed -n 's/.*decoded *\([0-9]*\) tokens*, one every \([0-9.]*\) ms.*/\1 * \2 \/ 1000/p' "$T/out" >"$T/decoded"
        near "$(cat "$T/decoded")" "$(row "$1" 'arrival_s + e2e_s') - ${joined:-$(sed -n 's/^ *\([0-9.]*\) s  arrived .*/\1/p' "$T/out")}" \
            "$(row "$1" 'e2e_s * 1e-3')"
        near "$(sed -n 's/.* transfer .*\b\([0-9][0-9]*\) bytes of KV in .*/\1 +/p' "$T/out") 0" "$2 * $(row "$1" prompt_tokens)" 1
        near "$(sed -n 's/^longest wait for a token: \([0-9.e-]*\) s.*/\1/p' "$T/out")" "$(row "$1" max_gap_s)" 0
    done
    [ -n "$some" ] || complain "no request with $3"
}
run 0 run disaggregated -q --interval never -o "$T/layers.db"
told "$T/layers.db" 131072 'prompt_tokens >= 512'
out 'beside the prompt: '
told "$T/layers.db" 131072 'prompt_tokens < 512'
! grep -q 'beside the prompt: ' "$T/out" || complain 'a short prompt moves layer by layer'
run 0 run disaggregated -q --interval never --set services.chat.kv_transfer.mode=serial -o "$T/serial.db"
told "$T/serial.db" 131072 'output_tokens > 1'

# Two prompts end at one moment on two nodes, and go to one replica: each moves at half the speed of its NIC.
two() { # START TRANSFER
    cat >"$T/two.json" <<END
{"cluster": {"nodes": 3, "gpus_per_node": 1, "gpu": "a100-80-sxm", "network": {"bandwidth": "1GB/s"}},
 "services": {"chat": {"llm": "llama-3.1-8b", "pools": {"prompts": {"role": "prefill", "replicas": 2},
   "tokens": {"role": "decode", "replicas": 1}}, "routing": "round-robin", "kv_transfer": {"start": "$1"$2},
   "trace": {"format": "azure-llm", "path": "two.csv"}}}}
END
}
printf '%s\n' TIMESTAMP,ContextTokens,GeneratedTokens '2024-01-01 00:00:00.000000,1000,6' '2024-01-01 00:00:00.000000,1000,6' >"$T/two.csv"
for start in push pull; do
    two $start
    run 0 run "$T/two.json" -q --interval never -o "$T/$start.db"
    told "$T/$start.db" 131072 1
    out 'transfer 131072000 bytes of KV in 262.1 ms from '
    out ' on at 1 GB/s of node1/gpu0/nic-out and node2/gpu0/nic-in, 131.1 ms longer beside other traffic'
done
two push ', "bandwidth": "2GB/s", "latency": "10ms"'
run 0 run "$T/two.json" -q --interval never -o "$T/own.db"
told "$T/own.db" 131072 1
grep -q 'transfer 131072000 bytes of KV in 75.54 ms from [0-9.]* s on at 2 GB/s$' "$T/out" || complain 'its own bandwidth is shared'

# Sequences of one request: with a request alone, all tokens of them but the first, which they share.
sampled() { # COUNT MEMBERS
    cat >"$T/sampled.json" <<END
{"cluster": {"nodes": 1, "gpus_per_node": 1, "gpu": "a100-80-sxm"}, "services": {"code": {"llm": "llama-3.1-8b",
  "batching": "vllm-v1", "sampling": {"sequences": 4, "returned": 2, "length_sigma": 0.4}$2,
  "trace": {"format": "generate", "count": $1, "arrival": {"process": "fixed", "rate": "1000/s"},
    "prompt": {"distribution": "fixed", "tokens": 400}, "output": {"distribution": "fixed", "tokens": 300}}}}}
END
    run 0 run "$T/sampled.json" -q --interval never -o "$T/sampled.db"
    tokens=$(sqlite3 "$T/sampled.db" "select value from metric where name = 'sampling.sequence_tokens.sum' order by run_id desc")
}
# The tokens that a story tells: in iterations with so many of its sequences.
decoded() { sed -n 's/.*decoded *\([0-9]*\) iterations* with \([0-9.]*\) of its 4 sequences,.*/\1 * \2 +/p' "$T/out"; }
sampled 1
run 0 why "$T/sampled.db" request 0
near "$(decoded) 4" "$tokens" "$tokens * 0.005"
out 'forks    into 4 sequences'
equal "$(grep -c ' sequence [0-9] ends after ' "$T/out")" 3 'ends of sequences'
out ', beside 0 sequences of others on average'
out " tokens generated by its last sequence, $(sqlite3 "$T/sampled.db" 'select output_tokens from request') of all sequences are output"
rm "$T/sampled.db"
sampled 2
total=
for id in 0 1; do
    run 0 why "$T/sampled.db" request $id
    total="$total$(decoded)"
done
near "$total 8" "$tokens" "$tokens * 0.005"

# Sequences that lose their KV one by one: the others decode on. One that comes back gets a token from its prompt.
rm "$T/sampled.db"
sampled 3 ', "kv": {"blocks": 200}'
sql "$T/sampled.db" 'select sum(preemptions) > 0 from request' 1
total=
for id in 0 1 2; do
    run 0 why "$T/sampled.db" request $id
    equal "$(grep -c ' preempt ' "$T/out")" "$(sqlite3 "$T/sampled.db" "select preemptions from request where id = $id")" preemptions
    total="$total$(decoded) 4 + $(grep -c ' resume ' "$T/out") + "
done
near "$total 0" "$tokens" "$tokens * 0.01"

finish
