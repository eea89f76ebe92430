#!/bin/sh
# The measuring kit (analysis/calibrate/kit) without a GPU: its Python compiles; its plan, files, manifest and going on,
# with a device that computes times; and orrery profile reads what that writes, and finds the laws behind it.
. tests/cli/lib.sh

command -v python3 >/dev/null || skip 'no python3'
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip 'python3 is older than 3.9'
optimised
export PYTHONDONTWRITEBYTECODE=1

# The kit as the program writes it.
run 0 profile --kit "$T/kit"
out "$T/kit: $(ls analysis/calibrate/kit/*.md analysis/calibrate/kit/*.py analysis/calibrate/kit/*/*.py | wc -l) files"
for file in $(cd analysis/calibrate/kit && ls *.md *.py */*.py); do
    cmp -s "analysis/calibrate/kit/$file" "$T/kit/$file" || complain "$file is another"
done
last='python3 compiles the kit'
python3 -c '
import sys
for path in sys.argv[1:]:
    compile(open(path).read(), path, "exec")
    long = [n for n, line in enumerate(open(path), 1) if len(line) > 121]
    assert not long, (path, long)' "$T"/kit/*.py "$T"/kit/orrery_kit/*.py tests/cli/profile_fake.py || complain 'it does not'
last='measure.py without PyTorch'
mkdir "$T/none"
echo 'raise ImportError("no torch")' >"$T/none/torch.py"
PYTHONPATH=$T/none python3 "$T/kit/measure.py" --plan >"$T/out" 2>&1 && complain 'it goes on'
out 'the machine with the GPU needs PyTorch for CUDA and Triton'

last='the kit with a device that computes times'
PYTHONPATH=$T/kit python3 tests/cli/profile_fake.py "$T" >"$T/out" 2>&1 || { complain 'it failed'; tail -5 "$T/out"; }
out 'nvfp4           skipped: vLLM is not installed'
out 'bf16: done before'
out 'all well'

# What it wrote.
run 0 profile "$T/rows" -o "$T/gpu.json" --power "$T/power.json" --json
valid_json
json '$.gpu' h100-sxm
json '$.parts[1].measured' 24
of_class() { sqlite3 :memory: "select value ->> '$.$2' from json_each(readfile('$T/out'), '$.$1') where value ->> '$.set' = 'isolated'
    and value ->> '$.class' = '$3'"; }
is_near() { # VALUE LEAST MOST WHAT
    equal "$(awk "BEGIN { print ($1 >= $2 && $1 <= $3) }")" 1 "$4, $1, is between $2 and $3"
}
is_near "$(of_class fits '"held_out_median_%"' gemm)" 0 2 'held-out error of products'
is_near "$(of_class fits '"held_out_median_%"' decode_attention)" 0 2 'of decoding'
is_near "$(of_class fits '"held_out_median_%"' all_reduce)" 0 2 'of all-reduces'
is_near "$(of_class rates '"flop_%"' gemm)" 55 61 'share of the peak'
is_near "$(of_class rates '"memory_%"' gemm)" 80 85 'share of the bandwidth'
is_near "$(of_class rates '"link_%"' all_reduce)" 60 80 'share of the link'
watts() { json_of "$T/power.json" "\$.activity.parameters.$1" | sed 's/W$//'; }
is_near "$(watts active)" 79 81 'watts of kernels'
is_near "$(watts memory)" 395 405 'watts at the peak of memory'
is_near "$(watts compute)" 195 205 'watts at the peak of compute'
equal "$(json_of "$T/gpu.json" '$.sets.isolated.send.rows')" 6 'sends'

# The calls that it prints work, with the requests of a serving engine too.
run 0 profile "$T/quick" -o "$T/quick.json"
out 'vllm  partial'
sed -n 's/^  orrery //p' "$T/out" >"$T/calls"
equal "$(wc -l <"$T/calls")" 2 'printed calls'
while read -r call; do
    run 0 $call
done <"$T/calls"
grep -q 'ttft_s' "$T/out" || complain 'the replay compares no TTFT'
finish
