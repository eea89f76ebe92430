#!/bin/sh
# `orrery explain experts`: placements of experts, the share of steps that stay on a GPU, and what it refuses.
. tests/cli/lib.sh

# Four experts of 1000 numbers in three layers, on two GPUs.
cat >"$T/moe.json" <<'END'
{ "model_type": "mixtral", "hidden_size": 1000, "intermediate_size": 256, "num_hidden_layers": 3, "vocab_size": 1000,
  "num_attention_heads": 8, "num_key_value_heads": 8, "num_local_experts": 4, "num_experts_per_tok": 1,
  "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "tie_word_embeddings": false, "head_dim": 128 }
END
cat >"$T/s.json" <<END
{ "cluster": {"nodes": 1, "gpus_per_node": 2, "gpu": "h100-sxm"},
  "services": {"chat": {"llm": "moe.json", "tensor_parallel": 2, "data_parallel": 2,
               "cost": {"kind": "operators", "engine": "none", "expert_parallel": 2},
               "trace": {"format": "generate", "count": 1}}} }
END
# Half of the tokens go to the successor, the others to any expert: 1/2 + 1/2 / 2 stay. Two steps of 2 kB.
run 0 explain experts "$T/s.json" --affinity 0.5 --csv
equal "$(awk -F, '$2 == "by affinity" { print $4, $5 + $6 }' "$T/out")" '0.75 4' 'share by affinity, and kB'

# Expert i of each layer hands all tokens to expert 3 - i: in order none stays, by affinity all do.
printf '0,0,0,5\n0,0,5,0\n0,5,0,0\n5,0,0,0\n' >"$T/steps.csv"
run 0 explain experts "$T/s.json" --affinity-file "$T/steps.csv" --csv
equal "$(tr -d '\r' <"$T/out" | awk -F, 'NR > 1 { print $2, $4, $7 }')" 'in order 0 1
by load 0 1
by affinity 1 1' 'shares and imbalance of a reversal'
# The rows of each of the two steps; no other number of rows.
cat "$T/steps.csv" "$T/steps.csv" >"$T/both.csv"
cp "$T/out" "$T/one"
run 0 explain experts "$T/s.json" --affinity-file "$T/both.csv" --csv
same "$T/out" <"$T/one"
head -3 "$T/steps.csv" >"$T/three.csv"
run 3 explain experts "$T/s.json" --affinity-file "$T/three.csv"
err 'the file has 3 rows, neither 4 nor 8'
printf '1,2,3\n' >"$T/short.csv"
run 3 explain experts "$T/s.json" --affinity-file "$T/short.csv"
err '3 counts in this row, but the LLM has 4 experts'
run 2 explain experts "$T/s.json" --affinity 1.5
err "must be a share from 0 to 1, got '1.5'"
run 2 explain experts "$T/s.json" --affinity 0.5 --affinity-file "$T/steps.csv"
err 'both say how tokens go'
run 2 explain links "$T/s.json" --affinity 0.5
err "belong to 'explain experts'"
run 2 explain experts quickstart
err 'no service deals experts'
finish
