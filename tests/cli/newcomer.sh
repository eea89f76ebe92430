#!/bin/sh
# Mistakes of people who are new: each gets a message that says what to do instead. A row: exit status, call, and what
# the message holds, separated by tabs. S stands for a small scenario, R for results.
. tests/cli/lib.sh
optimised
cat >"$T/s.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "generate", "count": 5,
                        "arrival": {"process": "poisson", "rate": "4/s"}}}} }
END
printf 'time,prompt,output\n0,10,10\n' >"$T/t.csv"
run 0 run "$T/s.json" -q -o "$T/r.db"
cat >"$T/bench.json" <<'END'
{"date": "20251101-000000", "backend": "vllm", "model_id": "m", "num_prompts": 2, "request_rate": "inf", "duration": 1.5,
 "total_input_tokens": 30, "total_output_tokens": 30, "request_throughput": 2.0, "input_lens": [10, 20]}
END
printf 'timestamp,duration,num_gpus,gpu_time,virtual_cluster\n2017-10-01 00:00:00,5,1,5,a\n' >"$T/jobs.csv"
printf 'TIMESTAMP,ContextTokens,GeneratedToken\n2023-11-16 18:15:46,10,10\n' >"$T/azure.csv"
printf 'cluster:\n  gpu: a100\n' >"$T/y.yaml"
: >"$T/zero.json"
printf '# a comment\n{}\n' >"$T/hash.json"
cat >"$T/table.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "azure-llm", "path": "jobs.csv"}}} }
END
cat >"$T/jobs.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "5s", "gpus": 2}]}} }
END
sed 's/"gpus": 2/"gpus": 1/' "$T/jobs.json" >"$T/jobs1.json"
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,10,10\n' >"$T/azure2.csv"
printf '{"t": 0, "in": 5}\n' >"$T/odd.jsonl"
cat >"$T/odd.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"path": "odd.jsonl"}}} }
END
printf 'num_prefill_tokens,num_decode_tokens\n5,6\n' >"$T/lengths.csv"
cat >"$T/lengths.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1},
  "services": {"chat": {"llm": "llama-2-7b", "trace": {"format": "lengths", "path": "lengths.csv"}}} }
END
sed 's/"input_lens"/"output_lens": [1, 2], &/; s/"inf"/4/' "$T/bench.json" >"$T/rated.json"
printf 'ts;user;tokens in;tokens_out\n1;2;3;4\n' >"$T/semicolons.csv"
printf '\001\200\201ab\000\302' >"$T/random.bin"
echo "{'cluster': 3}" >"$T/single.json"
mkdir "$T/infinite"
echo '{"model_type": "mamba2", "time_step_limit": [0.0, Infinity]}' >"$T/infinite/config.json"
echo '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}' >"$T/config.json"

echo '{"scenario": 3, "note": "x"}' >"$T/number.json"
run 0 run "$T/s.json" -q --keep metrics --set warmup=1ms -o "$T/m.db"
run 0 run "$T/s.json" -q --set warmup=1h -o "$T/w.db"
run 0 run "$T/jobs1.json" -q -o "$T/j.db"
cat >"$T/pools.json" <<'END'
{ "cluster": {"gpu": "a40", "nodes": 1, "node_types": {"b": {"gpu": "rtx-4090", "nodes": 1}},
              "network": {"bandwidth": "25GB/s"}},
  "services": {"chat": {
    "llm": "mixtral-8x7b",
    "trace": {"format": "generate", "count": 3, "arrival": {"process": "poisson", "rate": "2/s"}},
    "pools": {"p": {"role": "prefill", "tensor_parallel": 8},
              "d": {"role": "decode", "gpu": "rtx-4090", "tensor_parallel": 8}}}} }
END
n=0
while IFS='	' read -r wanted call message; do
    n=$((n + 1))
    message=$(echo "$message" | sed "s|\\bS\\b|$T/s.json|g; s|\\bR\\b|$T/r.db|g; s|\\bT/|$T/|g")
    call=$(echo "$call" | sed "s|\\bS\\b|$T/s.json|g; s|\\bR\\b|$T/r.db|g; s|\\bT\\b|$T|g")
    eval "run $wanted $call"
    err "$message"
    case $message in *': error: this '*) equal "$(wc -l <"$T/err")" 1 'lines of the message' ;; esac
done <<'END'
0	run T/pools.json --csv	; never measured on rtx-4090: 
0	run token-ring --csv	jobs: no kernel of v100-32-sxm was measured: times of steps follow the fit over all GPUs
2	rnu quickstart	unknown verb 'rnu'; did you mean 'run'?
2	run	there is no scenario to run; usage: orrery run SCENARIO
2	run quickstrt	no scenario 'quickstrt'; did you mean 'quickstart'?
3	run T/none.json	cannot read the file
2	run R	this is a database of results, not a scenario; 'orrery report', 'compare' and 'why' read it
2	run configs/studies/routing.json	this is a study, not a scenario; 'orrery sweep' runs it
2	run S S	unexpected argument
2	size S llama-3.1-8b --slo ttft.p99=1s	the LLM comes first, and the trace
2	run S --sede 3	unknown option '--sede'; did you mean '--seed'?
2	run S --until 2h	unknown option '--until'; '--help' lists the options; for a key, use --set until=VALUE
2	run S --set services.chat.llm=llama-3.1-70b	its weights have 141.1 GB
2	run S --set services.chat.tp=2	unknown key 'tp' in 'services.chat'; here it is 'tensor_parallel'
2	run S --set services.chat.llm=llama-3.1-70b	; tensor_parallel 2 fits
2	run S --seed	option '--seed' needs N
2	run S -o S	--output would replace what is read from
3	run S -o T/no/dir/r.db	create the directory first
2	run S --plugin S	it cannot be loaded
2	run S --set services.chat.replicas	not an assignment; write a.b=value
2	run S --set replicas=2	unknown key 'replicas'; it is 'services.NAME.replicas'
2	run S --set services.chat.replicsa=2	unknown key 'replicsa' in 'services.chat'; did you mean 'replicas'?
2	run S --set services.chat.replicas=0	must be between 1 and 1000000, got 0
2	run S --set services.chat.replicas=two	'replicas' must be a whole number between 1 and 1000000, got "two"
2	run S --set services.chat.replicas=100	the cluster has no node left with 1 free GPU for replica 8
2	run S --set services.chat.engine=vllm-0.12	it is 'services.chat.cost.engine'
2	run S --set services.chat.max_num_seqs=64	it is 'services.chat.batching.max_sequences'
2	run S --set services.chat.tensor_parallel_size=2	here it is 'tensor_parallel'
2	run S --set services.chat.model=llama-2-7b	here it is 'llm'
2	run S --set services.chat.gpu_memory_utilization=0.9	it is 'services.chat.kv.usable_frac'
2	run S --set services.chat.chunked_prefill_size=512	it is 'services.chat.batching.token_budget'
2	run S --set 'services.chat.batching={"policy":"vllm-v1","max_batched_tokens":512}'	here it is 'token_budget'
2	run S --set 'services.chat.batching={"policy":"vllm-v1","max_num_batched_tokens":512}'	here it is 'token_budget'
2	run S --set 'services.chat.batching={"policy":"sglang","chunked_prefill_size":512}'	here it is 'chunked_prefill_tokens'
2	run S --set 'services.chat.batching={"policy":"trtllm","max_num_tokens":512}'	here it is 'token_budget'
2	run S --set services.chat.batching=vllm-v0 --set services.chat.batching.token_budget=512	here it is 'max_batched_tokens'
2	run S --set services.chat.qps=5	unknown key 'qps' in 'services.chat'; it is 'services.chat.trace.
2	run S --set services.chat.tensor_parallel=3	is not a multiple of the tensor parallelism; tensor_parallel can be 1, 2, 4, 8, 16, 32
2	run S --set services.chat.trace.arrival.rate=4	'rate' needs a unit, got 4; write "4/s" or "4/min"
2	run S --set services.chat.slo.ttft=1	'ttft' needs a unit, got 1; write "1s" or "1ms"
2	run S --set services.chat.slo.ttft=1sec	'ttft' has an unknown unit, got "1sec"; write "1s"
2	run S --set until=2hours	got "2hours"; write "2h"
2	run S --set until=2parsec	write it like "15ms"; units: s, ms, us, ns, min, h, d
2	run S -set seed=2	unknown option '-set'; did you mean '--set'?
2	run S --set services.chat.routing=p2c	unknown routing policy 'p2c'; did you mean 'power-of-two'?
2	run S --set cluster.gpu=H100	unknown GPU 'H100'; did you mean 'h100-sxm'?
2	run S --set cluster.gpu=A100_80_SXM	did you mean 'a100-80-sxm'?
2	run S --set cluster.gpu=gaudi3	unknown GPU 'gaudi3'; only GPUs of NVIDIA and AMD are modelled, whole or in MIG slices; 'orrery list gpus' shows
2	run S --set services.chat.llm=llama3-8b	unknown LLM 'llama3-8b'; did you mean 'llama-3-8b'?
2	run S --set services.chat.llm=llama-3.1-70b	take more GPUs per replica (tensor_parallel) or a GPU with more memory
2	run S --set services.chat.batching=vllm	unknown batching policy 'vllm'; did you mean 'vllm-v1'?
2	run S --set services.chat.routing=mine	unknown routing policy 'mine' (your own need --plugin); known: 'round-robin'
2	run S --set services.chat.trace.format=azure	did you mean 'azure-llm'?
2	run S --set services.chat.trace.path=x.csv	unknown key 'path' in 'services.chat.trace' with format 'generate'
2	sweep quickstart	this is a scenario, not a study; 'orrery run' simulates it
2	sweep S	this is a scenario, not a study
2	sweep R	this is a database of results, not a study
2	figure run all	no figure 'all'; 'orrery figure all' runs all of them
2	figure run fgd	no figure 'fgd'
2	run T/bench.json	bench.json: error: this looks like a trace of format vllm-bench, not a scenario; a scenario names it
2	sweep T/bench.json	bench.json: error: this looks like a trace of format vllm-bench, not a study; a scenario names it
2	run T/infinite/config.json	this is a config.json of Hugging Face, not a scenario; a service names it as its "llm"
2	sweep T/infinite/config.json	this is a config.json of Hugging Face, not a study; a service names it as its "llm"
3	show T/infinite/config.json	this is a config.json of Hugging Face, not results; a service names it as its "llm"
2	run T/config.json	this is a config.json of Hugging Face, not a scenario; a service names it as its "llm"
2	run configs/hardware/a10.json	this is a GPU of the catalog, not a scenario
2	run configs/figures/vllm/serving.json	this is a figure, not a scenario; 'orrery figure run' simulates it
2	figure run configs/studies/routing.json	this is a study, not a figure; 'orrery sweep' runs it
2	figure run routing	no figure 'routing'; it is a study: orrery sweep routing
2	report	'orrery report' needs an argument; usage: orrery report RESULTS[:RUN]
3	report S	this is a scenario, not results; first: orrery run S -o results.db
3	report R:7	no run 7
2	compare R	name two runs, as results.db:1 results.db:2
2	why R request 99	has no request 99; it has 0 to 4
2	why R 3	'orrery why' needs what to explain; such as: orrery why R request 3; there are (request|job) (ID|slowest
2	export R	name a table or view to export; '--list' shows them
2	export R requests	unknown table or view 'requests'; did you mean 'request'?
2	list gpu	unknown listing 'gpu'; did you mean 'gpus'?
2	list metrics ttft	nothing in 'list metrics' begins with 'ttft'; did you mean 'request.ttft_s'?
2	list metrics nonsense	'orrery list metrics' shows all
2	list policies schedulers	did you mean 'scheduler'?
2	list keys engine --json	nothing in 'list keys' begins with 'engine'; 'orrery list keys' shows all; keys of policies
2	list keys replicas	did you mean 'services.NAME.replicas'?
2	compare R R -m ttft	no metric 'ttft'; did you mean 'ttft_s.mean'?
2	plot R -x seed -y e2e	did you mean 'e2e_s.mean'?
2	run traces/samples/chat.csv	this looks like a trace of format azure-llm, not a scenario; a scenario names it
2	validate T/t.csv	this is a table, not a scenario
2	run routing	no scenario 'routing'; it is a study: orrery sweep routing
2	run quickstart.json	no such file; did you mean 'quickstart'?
2	sweep replay.json	no such file; did you mean 'replay'?
2	report quickstart	this is a scenario, not results; first: orrery run quickstart -o results.db
3	trace stat R	is a SQLite database; expected text, or text in gzip; 'report', 'compare' and 'export' read results
2	figure run vllm	no figure 'vllm'; did you mean 'vllm/serving'?
2	explain S	unknown topic
2	conform nosuch	no policy 'nosuch'; name one of 'orrery list policies', or a shared object
2	size llama-3.1-8b --rate 5/s	such as --slo ttft.p99=1s --slo tpot.p99=50ms
2	size llama-3.1-8b --rate 5 --slo ttft.p99=1s	--rate: error: must be a number of requests per time, got '5'; such as
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1000	a limit has a unit: ttft.p99=1000ms or ttft.p99=1000s
2	size llama-3.1-8b --rate 5/s --slo ttft=1	a limit has a unit: ttft.p99=1s or ttft.p99=1ms
3	size llama-3.1-8b -t S --slo ttft.p99=1s	name it with -f
2	run S --set services.Chat.replicas=4	error: no 'Chat' in 'services'; did you mean 'chat'?
2	run S --set services.draft.llm=llama-2-7b	missing 'trace' in 'services.draft'
2	run S --replicas 4	for a key, use --set services.NAME.replicas=VALUE
2	run S --max-num-seqs 4	for a key, use --set services.NAME.batching.max_sequences=VALUE
2	run S --gpus 4	keys are set with --set KEY=VALUE; the cluster has 'cluster.nodes' times 'cluster.gpus_per_node' GPUs
2	run S --nonsense 4	unknown option '--nonsense'; '--help' lists the options
2	run S --set cluster.gpu=A100	did you mean 'a100-40-sxm'? There are also a100-80-pcie, a100-80-sxm; 'orrery list gpus' shows all
2	run S --set services.chat.llm=llama3	unknown LLM 'llama3'; did you mean 'llama-3
2	run S --set cluster.gpu=tpu-v5e	only GPUs of NVIDIA and AMD are modelled
2	run S --set services.chat.cost.engine=vllm-0.6	unknown engine 'vllm-0.6'; it lies between 'vllm-0.2' and 'vllm-0.12'; 'orrery list engines' shows all
2	run S --set services.chat.cost.engine=vllm-0.25	did you mean 'vllm-0.19'? There are also vllm-0.12, vllm-0.14, vllm-0.2, vllm-2024;
2	run S --set services.chat.kv.usable_frac=120%	'usable_frac' must be between 0.01 and 1, got "120%"
2	run S --set services.chat.kv.usable_frac=20%	'usable_frac' must be a number, got "20%"; write 0.2
2	run S --set services.chat.formats.weights=w8a8	unknown weights 'w8a8'; did you mean 'int8' or 'fp8'?
2	run S --set services.chat.formats.weights=fp4	unknown weights 'fp4'; did you mean 'nvfp4' or 'mxfp4'?
2	run S --set cluster.network.bandwidth=1e400Gbps	'bandwidth' is out of range, got "1e400Gbps"; write it like "2.04TB/s"
0	run S -q --set services.chat.cost.engine=sglang-0.5 --set services.chat.batching=vllm-v1	engine 'sglang-0.5' and the batching policy 'vllm-v1' of another engine; leave 'batching' out for its own, 'sglang'
0	run S -q --set services.chat.cost.engine=vllm-0.14 --set services.chat.batching=vllm-v1	engine 'vllm-0.14' hides its host behind the GPU only under 'vllm-v1' with 'async'; its CPU overhead is added; set batching.async, or leave 'batching' out
0	run S -q --set services.chat.cost.engine=vllm-0.2 --set services.chat.batching=vllm-v1	of another engine; leave 'batching' out for its own, 'vllm-v0'
2	run S --set services.chat.quantization=fp8	unknown key 'quantization' in 'services.chat'; it is 'services.chat.formats.weights'
2	run S --set services.chat.kv_cache_dtype=fp8	it is 'kv' of the section 'formats'
2	run S --set services.chat.formats.weights=awq	unknown weights 'awq'; did you mean 'int4'?
2	run S --set services.chat.trace=nosuch.csv	a file is named by 'services.chat.trace.path'
2	run S --set services.chat.trace=azure-llm	got "azure-llm"; set 'services.chat.trace.format'
2	run S --set services.chat.kv.prefix_cache=true	must be an object with "policy", got true; a name will do: 'lru',
2	run S --set services.chat.kv.usable_frac=90%	'usable_frac' must be a number, got "90%"; write 0.9
2	run S --set until=2h10min	'until' has several units, got "2h10min"; write "130min"
2	run S --set cluster.network.bandwidth=400Gbps	'bandwidth' is in bits, got "400Gbps"; write "50GB/s"
2	run S --set cluster.network.bandwidth=400Gb/s	'bandwidth' is in bits, got "400Gb/s"; write "50GB/s"
2	run S --set services.chat.llm=llama-3.1-405b	--set services.chat.llm: error: 'llama-3.1-405b' does not fit into 1 x a100-80-sxm
2	run S --set services.chat.llm=llama-3.1-405b	tensor_parallel 16 fits on 2 nodes of 8 GPUs, the cluster has 1: --set cluster.nodes=2 --set cluster.network.bandwidth=50GB/s
3	run T/table.json	jobs.csv: error: this is a trace of jobs, format philly; expected requests
2	run T/y.yaml	y.yaml: error: this is YAML, not JSON; write it as JSON
2	sweep T/y.yaml	this is YAML, not JSON
2	run T/zero.json	zero.json:1:1: error: expected a value, got the end of the text; the document is empty
2	explain	usage: orrery explain cluster|config|cost|experts|links|schema ...
2	plan llama-3.1-8b	error: there is no GPU to train on; name it with --gpu
2	trace generate -o T/g.csv --set rate=5/s	write --set 'arrival={"process": "poisson", "rate": "5/s"}'
2	list keys service.chat	did you mean 'services.NAME'?
2	list keys services.chat.kv	did you mean 'services.NAME.kv'?
2	list parameters tiresias	'tiresias' is no family; its family is scheduler: orrery list parameters scheduler
2	list parameters azure-llm	its family is request-trace
2	list parameters schedulers	did you mean 'scheduler'?
3	trace check T/azure.csv	no format fits (azure-llm also needs 'GeneratedTokens'): the first row is
3	compare R:one R:1	a run is a number, as in T/r.db:1
2	report R -o T/out.pdf	--output: error: what is written is HTML, not .pdf; name a file that ends in .html
2	export R request -o T/r.xlsx	what is written is CSV, not .xlsx; name a file that ends in .csv
2	export R request -o T/r.sqlite	what is written is CSV, not .sqlite; name a file that ends in .csv
2	export R request --latex -o T/r.csv	what is written is LaTeX, not .csv; name a file that ends in .tex
2	trace convert traces/samples/chat.csv -o T/x.parquet	what is written is text, not .parquet; name a file that ends in .csv
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --page T/p.png	--page: error: what is written is HTML, not .png
2	help foo	unknown verb 'foo'; known: run, size
2	--verison	unknown option '--verison'; did you mean '--version'?
2	-x	unknown option '-x'; options follow a verb
2	list policy	unknown listing 'policy'; did you mean 'policies'?
2	list models	unknown listing 'models'; did you mean 'llms'?
3	trace check T/lengths.csv	no column 'arrived_at' in the header; --set 'arrival={"process": "poisson", "rate": "4/s"}'
3	run T/lengths.json	set "arrival": {"process": "poisson", "rate": "4/s"} in its "trace", or --set 'services.chat.trace.arrival={
3	trace check T/rated.json	its request_rate was 4: --set 'arrival={"process": "poisson", "rate": "4/s"}'
3	run T/lengths.json --set services.chat.trace.format=vllm-bench --set services.chat.trace.path=T/rated.json	or --set 'services.chat.trace.arrival={"process": "poisson", "rate": "4/s"}'
2	plan --llm llama-3.1-8b	unknown option '--llm'; the LLM stands alone: orrery plan llama-3.1-8b --gpu
2	plan llama-3.1-8b --recompute full	for a key, use --set recompute=VALUE
2	plan llama-3.1-8b	error: there is no batch of a step; such as --batch 512
2	sweep schedulers --seeds 1 -o R	not the results of a study; name what 'orrery sweep' wrote, or a new file to write to
2	conform scheduler	'scheduler' is a family of policies; name one of its policies: 'fifo',
2	conform batching	'batching' is a family of policies; name one of its policies: 'vllm-v0', 'vllm-v1'
3	trace check T/semicolons.csv -f csv --set delimiter=comma	no column 'arrival_s' in the header; the row looks separated by semicolons
2	run S --keep all	it is one of scenario, metrics, curves, rows, decisions
2	run T/jobs.json --set jobs.trace.jobs.0.duration=-10min	'duration' must be between "0s" and "2500000h", got "-10min"
2	run T/jobs.json --set jobs.trace.jobs.0.gpu=4	unknown key 'gpu' in 'jobs.trace.jobs.0'; did you mean 'gpus'?
2	run T/single.json	; use double quotes
2	run S --set chat.replicas=2	unknown key 'chat'; it is 'services.chat.replicas'
2	run S --set schduler=foo	unknown key 'schduler'; did you mean 'jobs.scheduler'?
2	run S --set services.chat.max_batch=4	it is 'services.chat.batching.max_sequences'
2	size quickstart --rate 5/s --slo ttft.p99=1s	quickstart: error: this is a scenario, not an LLM; 'orrery run' simulates it; 'orrery size' takes an LLM
2	run T/random.bin	this is binary data, not a scenario
3	report R -o T/none/r.html	cannot write: No such file or directory; create the directory first
3	export R request -o T/none/r.csv	cannot write: No such file or directory; create the directory first
2	trace generate -o T/g.csv	a generated trace needs an end; write --set count=1000, or --set duration=1h
2	trace check S	error: this is a scenario, not a trace
2	why R:1	'orrery why' needs what to explain; such as: orrery why R:1 request slowest; there are
2	why T/j.db	such as: orrery why T/j.db job longest-wait; there are
2	why R job	'job' needs an id; such as: orrery why R job longest-wait
2	why R time	'time' needs a stretch of time; such as: orrery why R time 0s:10s
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --set services.chat.cost.engine=vllm-0.2	write --set services.llm.cost.engine=vllm-0.2
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --set services.llm.tensor_parallel=2	services.llm.tensor_parallel is what 'size' searches
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --set cluster.gpu=l4	cluster.gpu is what 'size' searches; name GPUs with --gpu
2	trace convert	usage: orrery trace convert FILE -o FILE [-t FORMAT]
2	trace stat	usage: orrery trace stat FILE
2	trace check	usage: orrery trace check FILE
2	trace replay	usage: orrery trace replay LOG --scenario SCENARIO
2	list parameters	'orrery list parameters' needs a family; such as: orrery list parameters batching
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --gpus 4	unknown option '--gpus'; --max-gpus N limits their number, --gpu NAME their kind
2	size --model llama-3.1-8b --rate 5/s --slo ttft.p99=1s	the LLM stands alone: orrery size llama-3.1-8b
2	size --qps 5 llama-3.1-8b --slo ttft.p99=1s	such as --rate 5/s
2	run S --set services.chat.replicas=100	it has 1 node of 8 GPUs: raise cluster.nodes
3	show S	this is a scenario, not results; first: orrery run S -o results.db
3	show configs/studies/routing.json	this is a study, not results; first: orrery sweep configs/studies/routing.json -o results.db
2	show quickstart	this is a scenario, not results; first: orrery run quickstart -o results.db
2	report routing	this is a study, not results; first: orrery sweep routing -o results.db
3	why T/azure2.csv request 3	this looks like a trace of format azure-llm, not results
3	run --from T/t.csv	this is a table, not results; name a file that a run with -o wrote
3	run --from S	this is a scenario, not results; first: orrery run S -o results.db
3	export S request	this is a scenario, not results
3	plot T/t.csv -x nodes -y ttft	this is a table, not results
3	runs configs/figures/vllm/serving.json	this is a figure, not results; 'orrery figure run' simulates it
3	merge S -o T/all.db	this is a scenario, not results
3	compare R S	this is a scenario, not results; first: orrery run S -o results.db
3	report configs/regression/baseline.json	this is a baseline, not results; 'orrery check --baseline' reads it
3	show T/none.db	cannot open results: No such file or directory; name a file that a run with -o wrote
2	run S --set 'until=5 minutes'	got "5 minutes"; write "5min"
2	run S --set 'until=1 day'	got "1 day"; write "1d"
2	run S --set until=10m	got "10m"; write "10min"
2	run S --set until=2hr	got "2hr"; write "2h"
2	run S --set until=1week	got "1week"; write "7d"
2	run S --set services.chat.slo.ttft=500MS	'ttft' has a unit in the wrong case, got "500MS"; write "500ms"
2	run S --set services.chat.kv.reserve=2G	got "2G"; write "2GB"
2	run S --set services.chat.trace.arrival.rate=4rps	got "4rps"; write "4/s"
2	run S --set services.chat.trace.arrival.rate=4/second	got "4/second"; write "4/s"
2	explain cost	there is no scenario to explain; name a file, or one of 'orrery list scenarios', such as: orrery explain cost quickstart
2	explain cost llama-3.1-8b	this is an LLM, not a scenario; name a scenario, and change it by --set services.NAME.llm=llama-3.1-8b
2	run h100-sxm	this is a GPU, not a scenario; name a scenario, and change it by --set cluster.gpu=h100-sxm
2	check --baseline R	this is a database of results, not a baseline; 'orrery show' and 'orrery report' read it; 'orrery check -b FILE.json --update
2	check --baseline S	this is a scenario, not a baseline; 'orrery run' simulates it; 'orrery check -b FILE.json --update SCENARIO' writes
2	size S	this is a scenario, not an LLM; 'orrery run' simulates it; 'orrery size' takes an LLM, one of 'orrery list llms'
2	size R	this is a database of results, not an LLM; 'orrery show'
2	size T/t.csv	this is a table, not an LLM
2	plan S --gpu l4 --batch 8	this is a scenario, not an LLM; 'orrery run' simulates it; 'orrery plan' takes an LLM
2	plan llama-3.1-8b --gpu l4 --batch 8 --tp 4	unknown option '--tp'; '--help' lists the options; for a key, use --set tensor_parallel=VALUE
2	plan llama-3.1-8b --gpu l4 --batch 8 --micro-batch-size 4	for a key, use --set micro_batch=VALUE
2	plan llama-3.1-8b --gpu l4 --batch 8 --nodes 2	--gpus N counts the GPUs of all nodes
2	plan llama-3.1-8b --gpu l4 --batch 8 --set tp=4	unknown key 'tp'; here it is 'tensor_parallel'
2	plot R	needs an axis along x (-x) and a metric along y (-y); this file has no study, which has axes; 'orrery report R' draws a run
2	plot R -x nodes -y ttft_s.mean	no run has an axis 'nodes'; this file has no study, which has axes
2	trace replay T/azure2.csv	this looks like a trace of format azure-llm, which has no measured times
2	trace replay R	this is a database of results, not a log; 'orrery compare RESULTS LOG' compares it with a log
2	trace replay S --scenario S	this is a scenario, not a trace
2	trace replay T/t.csv	name the deployment with --scenario, such as quickstart
2	run S --set cluster.gpu=h100-mig-1g.10gb	only GPUs of NVIDIA and AMD are modelled, whole or in MIG slices
2	run S --set cluster.mig=1g.11gb	has no MIG profile '1g.11gb'
2	run S --set cluster.mig_profile=1g.10gb	here it is 'mig'
2	run S --set services.chat.enable_lora=true	unknown key 'enable_lora' in 'services.chat'; LoRA is not simulated
2	run S --set services.chat.max_model_len=4096	the LLM's file limits the context; 'max_total_tokens' of a 'trace' limits its requests
2	run S --set services.chat.speculative_config=x	set 'speculation', such as "ngram"; 'orrery list parameters speculation' has its keys
2	run S --set services.chat.enforce_eager=true	CUDA graphs are switched off by 'cost.cuda_graphs'
2	run S --set services.chat.swap_space=4	set 'kv.offload', such as "vllm-cpu"
2	run S --set services.chat.dtype=bf16	it is 'services.chat.formats.weights'
2	run S --set services.chat.temperature=1	answers are not simulated, only their lengths; leave it out
2	run S --set services.chat.port=8000	it does not change times; leave it out
2	run S --set services.chat.max_tokens=100	lengths are those of the 'trace'; with format 'generate', its 'prompt' and 'output'
2	run S --set services.chat.enable_expert_parallel=true	it is 'services.NAME.cost.expert_parallel'; vLLM's --enable-expert-parallel has all of 'tensor_parallel' there
2	run S --set services.chat.kv_transfer_config=x	prompts and decoding are split by 'pools'
2	run S --set services.chat.router=random	unknown key 'router' in 'services.chat'; here it is 'routing'
2	run S --set services.chat.autoscaling=x	here it is 'scaling'
2	run S --set duration=1h	unknown key 'duration'; here it is 'until'
2	run S --set trace=x	it is 'services.NAME.trace' or 'jobs.trace'
2	simulate quickstart	unknown verb 'simulate'; it is 'orrery run'
2	start quickstart	unknown verb 'start'; it is 'orrery run'
2	graph R	unknown verb 'graph'; it is 'orrery plot'
2	diff R R	unknown verb 'diff'; it is 'orrery compare'
2	help sizing	unknown verb 'sizing'; it is 'orrery size'
2	gpus	unknown verb 'gpus'; it is 'orrery list gpus'
2	cmpare R R	unknown verb 'cmpare'; did you mean 'compare'?
2	run S --seed abc	'seed' must be a whole number between 0 and 9000000000000000, got "abc"
2	run S --seed -1	'seed' must be between 0 and 9000000000000000, got -1
2	sweep schedulers --seeds 0	--seeds: error: must be a whole number of at least 1, got '0'
2	list gpus pascal9	nothing in 'list gpus' has 'pascal9'; 'orrery list gpus' shows all
2	list llms lamma-3-8b	nothing in 'list llms' has 'lamma-3-8b'; did you mean 'llama-3-8b'?
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s --max-gpus 0	--max-gpus: error: must be a whole number of at least 1, got '0'
2	run S --set services.chat.trace.path=T/azure.csv	with format 'generate'; the format was chosen by S:2:66; --set services.chat.trace.format=NAME takes another one
2	run S --set services.chat.trace.path=T/azure.csv --set services.chat.trace.format=csv	write --set services.chat.trace.count=null, as the format was changed
2	run T/odd.json	no format fits: the first object has the keys 't,in'; name it: --set services.chat.trace.format=NAME
3	run T	cannot read the file: Is a directory; name a file in it
3	trace stat T	error: is a directory; name a file in it
3	show T/zero.json	this file is empty; name a file that a run with -o wrote
2	run S --set services.chat.trace.arrival.process=exponential	unknown arrival process 'exponential'; did you mean 'poisson'?
2	run S --set services.chat.trace.prompt=500	'services.chat.trace.prompt.distribution' is one of 'fixed', 'uniform'
2	run S --set services.chat.trace.prompt.tokens=500	missing 'distribution' in 'prompt'; it is one of 'fixed', 'uniform'
5	run S --quiet --set 'failures={"outages": {"o": {"node": 0, "from": "1s"}}}'	failures keep all of its replicas down, and no node comes back; give the outage an "until"
2	run analysis	'analysis' is a directory, not a scenario
2	run S --set 'cluster.gpu=NVIDIA A100-SXM4-80GB'	did you mean 'a100-80-sxm'? There are also a100-40-sxm, a100-80-pcie
2	run S --set 'cluster.gpu=Tesla V100-SXM2-32GB'	did you mean 'v100-32-sxm'?
2	run S --set cluster.gpu=DGX-H100	did you mean 'h100-sxm'? There are also h100-pcie
2	plan llama-3.1-405b -g h100-sxm -n 2048 --batch 2048 -s network=50GB/s -s tensor_parallel=8 -s pipeline_parallel=16	126 layers: the product can be 1, 2, 3, 6, 7, 9, 14, 18, 21, 42, 63, 126; or approximate it by shape.layers=128
2	run S --set 'cluster.gpu=NVIDIA A100 80GB'	did you mean 'a100-80-sxm'? There are also a100-40-sxm, a100-80-pcie
2	run S --set services.chat.slo.itl=1s	unknown key 'itl' in 'services.chat.slo'; here it is 'tpot'
2	run S --set 'services.chat.trace={"format": "csv", "path": "T/t.csv", "columns": {"prompt_tokens": "in"}}'	unknown key 'prompt_tokens' in 'services.chat.trace.columns'; did you mean 'prompt'?
2	run S --set services.chat.slo=1s	'slo' must be an object, got "1s"; set a key of 'services.chat.slo': 'ttft', 'tpot'
2	run S --set cluster.network=50GB/s	set a key of 'cluster.network': 'bandwidth'
2	run S --set services.chat.pools=2	set a key of 'services.chat.pools.NAME': 'role'
2	run S --set services.chat.scheduler=fcfs	it is 'batching'; 'jobs' has a 'scheduler'
2	run S --set services.chat.replicas = 4	unexpected argument '='; a setting has no blanks: --set KEY=VALUE
2	run S seed=4	unexpected argument 'seed=4'; a setting goes behind --set: --set seed=4
2	run S --set 'services[chat].replicas=4'	dots join the parts of a key: services.NAME.replicas
2	run S --set services/chat/replicas=4	dots join the parts of a key
3	sweep schedulers -o T/no/dir/x.db	No such file or directory; create the directory first
2	sweep T/t.csv	this is a table, not a study
2	sweep T/azure2.csv	this looks like a trace of format azure-llm, not a study
2	size llama-3.1-8b --rate 5/s --slo ttft.p99=1s -g 'h100-sxm=$0/h'	the price '$0/h' is not above 0
2	size llama-3.1-8b --rate 5rps --slo ttft.p99=1s	got '5rps'; write --rate 5/s
2	why R slowest	such as: orrery why R request slowest
2	trace generate -o T/g.csv -f csv	format 'csv' reads a file and generates nothing
2	check --baseline T/new.json --update nosuch	nosuch: error: no scenario 'nosuch'
2	run T/jobs1.json --set jobs.scheduler=backfilling	did you mean 'easy'?
2	run T/jobs1.json --set jobs.policy=fifo	unknown key 'policy' in 'jobs'; here it is 'scheduler'
2	run T/jobs1.json --set jobs.placement=spread	did you mean 'worst-fit'?
2	run T/jobs1.json --set jobs.checkpoint_interval=30min	it is 'jobs.types.NAME.checkpoint'
2	run T/jobs1.json --set failures.mtbf=10h	it is 'failures.causes.NAME.lifetime'
2	run T/jobs1.json --set failures=true	set a key of 'failures': 'causes'
2	run S --set cluster.power.limit=10kW	unknown key 'limit' in 'cluster.power'; here it is 'budget'
2	run S --set cluster.pue=1.2	carbon and cooling are not simulated
2	run S --set cluster.network.bandwidth=50GB	has a unit of another kind, got "50GB"; write "50GB/s"
2	run S --set cluster.network.bandwidth=400gbps	is in bits, got "400gbps"; write "50GB/s"
2	run S --set cluster.gpu_price=2.5/h	got "2.5/h"; write "$2.5/h"
2	run S --set services.chat.routing=sticky	did you mean 'session-affinity'?
2	run S --set services.chat.batching=dynamic	did you mean 'vllm-v1'?
2	run S --set services.chat.speculation=draft-model	did you mean 'fixed'?
2	calibrate S	exactly one of --gpu, --predict and --engine is needed
2	run quickstart -q -o T/results.csv	what is written is a SQLite database, not .csv; name a file that ends in .db
2	run S -q -o R:1	--output: error: 'R:1' names a run of 'R'; name the database alone; the new run gets a number
2	run S -q --timeline T/t.txt	what is written is JSON, not .txt; name a file that ends in .json
2	sweep schedulers -q -o T/results.json	what is written is a SQLite database, not .json
2	run S --set services.chat.ep=8	it is 'services.NAME.cost.expert_parallel'; vLLM's --enable-expert-parallel has all of 'tensor_parallel' there
2	run S --set services.chat.enable_dp_attention=true	set 'data_parallel' within 'tensor_parallel'
2	run S --set services.chat.cost.expert_parallel=8	llama-2-7b over 1 GPUs: it has no experts, so leave out expert parallelism
2	run S --set services.chat.pipeline_parallel=100	it has 32 layers: pipeline_parallel can be 1 to 32
2	quickstart	error: 'quickstart' is no verb, but a scenario; it is 'orrery run quickstart'
2	S	error: 'S' is no verb, but a scenario; it is 'orrery run S'
3	run T	cannot read the file: Is a directory; name a file in it
2	sweep schedulers --set jobs.scheduler=fifo	copy the study's file and change its axis, or simulate one point with 'orrery run'
2	list keys services.NAME.cost.expert	keys of costs are in 'orrery list parameters cost'
2	trace generate -o T/g.csv --set format=generate	the format is named by -f: -f generate
2	run T/hash.json	expected a value, got '#'; comments start with //
2	run S --set services.chat.batching=continuous	did you mean 'vllm-v1', 'sglang' or 'trtllm'?
2	list routers	did you mean 'policies routing'?
2	list figures	they are in 'orrery figure list'
2	run S --set services.chat.prefix_caching=true	it is 'services.chat.kv.prefix_cache'
2	run S --set services.chat.batching=sglang --set services.chat.batching.chunk_size=512	here it is 'chunked_prefill_tokens'
2	run S --set 'services.chat.batching={"policy":"vllm-v1","chunk_size":512}'	here it is 'token_budget'
2	run S --set services.chat.trace=null	missing 'trace' in 'services.chat'; expected an object, such as {"path": "trace.csv"}
2	why R slowest	such as: orrery why R request slowest; there are (request|job) (ID|slowest|longest-wait), request longest-ttft, and time FROM:TO
2	why R longest-ttft	such as: orrery why R request longest-ttft
3	trace check T/t.csv -f csv	no column 'prompt_tokens' in the header; did you mean 'prompt'? 'columns' names it, as --set columns.KEY=NAME
3	trace check T/t.csv -f csv --set columns.arrival=1	numbers of columns need "header": false
2	export R request -o T/sp.tex	what is written is CSV, not .tex; add --latex
2	run S --seed -5	--seed: error: 'seed' must be between 0 and
2	run S --num-requests=10	'services.NAME.trace.count' of a trace with format 'generate'; another trace gives the requests itself: 'until'
2	run quickstart --set services.chat.trace.num_prompts=4	another trace gives the requests itself: 'until', or 'window' of the trace
2	run S --set services.chat.trace.num_prompts=4	here it is 'count'
2	run S --max-concurrency=4	'users' of a trace's 'arrival' with process 'closed'
2	run S --set cluster.power_limit=300W	'cap' of 'cluster.power.capping' with policy 'static-cap'
2	run S --set cluster.temperature=3	unknown key 'temperature' in 'cluster'; known: 'nodes'
2	run S --set cluster.port=3	unknown key 'port' in 'cluster'; known: 'nodes'
2	run S --set services.chat.port=3	it does not change times; leave it out
2	run S --set cluster.power.budget=3mW	got "3mW"; write it like "700W"; units: W, kW, MW
2	run S --set until=1M	got "1M"; write it like "15ms"; units: s, ms, us, ns, min, h, d
2	run S --set services.chat.kv.reserve=512Mb	got "512Mb"; write it like "80GiB"; units: B, kB, MB
2	run S --set services.chat.kv.reserve=512mb	write "512MB"
2	run S --set services.chat.llm=llama-3.1-405b	--set cluster.network.bandwidth=50GB/s --set services.chat.tensor_parallel=16
2	run T/number.json	unknown key 'scenario'; known: 'name', 'cluster'
2	sweep T/number.json	'scenario' must be a string, got 3
2	show T	error: this is a directory, not results
2	size T/azure2.csv --slo ttft.p99=1s	of format azure-llm, not an LLM; the LLM comes first: orrery size LLM --trace FILE
2	size llama-3.1-8b --latency=1s	--slo e2e.p99=1s
2	size llama-3.1-8b --ttft-p99=1s	--slo ttft.p99=1s
2	size llama-3.1-8b --tp=2	'size' searches it
2	size llama-3.1-8b --max-replicas=3	--max-gpus N
2	size llama-3.1-8b --duration=1min	--requests N behind --rate; of a trace, --set services.llm.trace.window=0s:60s
2	size llama-3.1-8b --max-num-seqs=8	--set services.llm.batching.max_sequences=VALUE
2	size llama-3.1-8b --rate 1/s --slo ttft.p99=1s --set 'services.llm={"replicas":3}'	services.llm.replicas is what 'size' searches
2	size llama-3.1-8b --rate 1/s --slo ttft.p99=1s --set 'services.llm={"batching":"sglang"}'	services.llm.batching is what 'size' searches
2	size llama-3.1-8b --rate 1/s --slo ttft.p99=1s --set 'cluster={"gpu":"l4"}'	cluster.gpu is what 'size' searches
2	why T/m.db:1 request slowest	repeat the run with --keep rows
2	why T/w.db:1 request slowest	--with-warmup also takes
2	why R longest-ttft	such as: orrery why R request longest-ttft
END

run 0 run "$T/s.json" -q --set warmup=1h
out 'no request arrives after the warm-up of 60 min, and the run ends at '
run 0 list gpus HOPPER --csv
out 'h100-sxm,Hopper'
! grep -q '^a100' "$T/out" || complain 'a word keeps only rows that have it'
run 0 list traces --csv
out 'azure-llm,https://github.com/Azure/AzurePublicDataset,data/AzureLLMInferenceTrace_conv.csv,CC-BY-4.0'
out 'philly,https://github.com/'
for file in r.csv r.CSV.gz r.txt pdf r .pdf.d/r; do
    mkdir -p "$T/.pdf.d"
    run 0 export "$T/r.db" request -o "$T/$file"
done
run 0 size deepseek-v3 --rate 1/s --slo ttft.p99=1s -g a10g -q
out 'a10g: cannot run deepseek-v3: 32 GPUs have 695.4 GB: no KV cache fits beside 673.2 GB of weights'
# The scheduler of the engine, the policy of a paper and the default engine are no contradictions.
for settings in services.chat.cost.engine=sglang-0.5 services.chat.batching=sglang \
    'services.chat={"cost": {"engine": "sglang-0.5"}, "batching": "sglang"}' \
    'services.chat={"cost": {"engine": "vllm-0.2"}, "batching": "sarathi"}'; do
    run 0 run "$T/s.json" -q --set "$settings"
    ! grep -q 'of another engine' "$T/err" || complain "$settings contradicts nothing"
done
run 0 run "$T/s.json" -q --set services.chat.cost.engine=sglang-0.5
out ', batcher sglang,'
run 0 run "$T/s.json" -q --set services.chat.cost.engine=vllm-0.14
out 'the CPU overhead of engine vllm-0.14 was not measured: it is that of vllm-0.12'
! grep -q 'hides its host' "$T/err" || complain 'the engine has its own scheduler'

# A verb has its help under both names. `list` alone lists what can be listed, each of which exists.
for verb in run list; do
    run 0 $verb --help
    cp "$T/out" "$T/wanted"
    run 0 help $verb
    out_is <"$T/wanted"
done
run 0 list --csv
tail -n +2 "$T/out" | cut -d, -f1 >"$T/listings"
[ "$(wc -l <"$T/listings")" -ge 14 ] || complain 'listings are missing'
while read -r listing; do
    run 2 list $listing no-such-name
    case $listing in
    policies | metrics | keys | parameters) ;;
    *) err "nothing in 'list $listing' has 'no-such-name'" ;;
    esac
done <"$T/listings"

# What a message says to write is taken.
run 0 trace check "$T/t.csv" --set columns.arrival=time --set columns.prompt=prompt --set columns.output=output
run 0 list policies routing
run 0 figure list
run 0 trace check "$T/lengths.csv" --set 'arrival={"process": "poisson", "rate": "4/s"}'
run 0 trace check "$T/rated.json" --set 'arrival={"process": "poisson", "rate": "4/s"}'
run 0 validate "$T/lengths.json" --set 'services.chat.trace.arrival={"process": "poisson", "rate": "4/s"}'
run 0 trace generate -o "$T/g.csv" --set duration=1min --set 'arrival={"process": "poisson", "rate": "5/s"}'
run 0 validate "$T/s.json" --set services.chat.llm=llama-3.1-405b --set services.chat.tensor_parallel=16 --set cluster.nodes=2 \
    --set cluster.network.bandwidth=50GB/s
run 0 validate "$T/s.json" --set services.chat.tensor_parallel=32 --set cluster.nodes=4 --set cluster.network.bandwidth=50GB/s
run 0 validate "$T/s.json" --set services.chat.trace.arrival.rate=null --set services.chat.trace.arrival.users=4 \
    --set services.chat.trace.arrival.process=closed
run 0 validate "$T/s.json" --set 'cluster.server_power={"idle": "680W", "per_gpu_watt": 0.66}' \
    --set cluster.power.budget=10kW --set 'cluster.power.capping={"policy": "static-cap", "cap": "300W"}'
for hint in '--rate 1/s --requests 5 --slo e2e.p99=99s' '--trace traces/samples/chat.csv --slo e2e.p99=99s --set services.llm.trace.window=0s:1s'; do
    run 0 size llama-3.1-8b -q --gpu h100-sxm --max-gpus 1 $hint
done
run 0 validate "$T/s.json" --set until=130min --set services.chat.kv.usable_frac=0.9 --set services.chat.kv.prefix_cache=lru
run 0 trace generate -o "$T/g.csv" --set count=3 --set 'arrival={"process": "poisson", "rate": "5/s"}'

# The advice of a message works: the key that it names takes the value. (The first one, where it names several.)
while read -r key value; do
    run 2 validate "$T/s.json" --set "$key=$value"
    advised=$(sed "s/'[^']*'//; s/ in '[^']*'//; s/^[^']*'\([^']*\)'.*/\1/; s/NAME/chat/; 1q" "$T/err")
    case $key in *.chat.*) case $advised in *.*) ;; *) advised=services.chat.$advised ;; esac ;; esac
    run 0 validate "$T/s.json" --set "$advised=$value"
done <<'END'
gpus 4
num_gpus 2
cluster.gpus 2
nodes 3
gpu h100-sxm
services.chat.gpu h100-sxm
services.chat.gpus 2
services.chat.tp 2
llm llama-3-8b
rate 4/s
services.chat.qps 4/s
engine vllm-0.12
services.chat.quantization fp8
num_prompts 3
request_count 3
services.chat.ep 1
END
[ $n -ge 40 ] || complain "only $n mistakes were made"
finish
