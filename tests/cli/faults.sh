#!/bin/sh
# Every call that writes, with memory, disks and processes that fail: it says so, what is there is the old state or the
# new one, and the next call removes what is left (tests/support/faults/walk.c). `make faults` tries every place;
# FAULTS="NAME..." tries some rows alone.
. tests/cli/lib.sh

compiler=${CC:-cc}
$compiler -std=gnu17 -O1 -fno-omit-frame-pointer -fPIC -shared -o "$T/shim.so" tests/support/faults/shim.c -ldl ||
    complain 'no shim'
$compiler -std=gnu17 -I. -o "$T/walk" tests/support/faults/walk.c tests/support/faults/state.c -lsqlite3 ||
    complain 'no walk'

# The inputs, which calls name as ../in. Jobs need few allocations.
optimised
in=$T/in
mkdir -p "$in/own" "$in/was/own"
jobs() { # FILE COUNT
    cat >"$1" <<END2
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 2},
  "jobs": {"trace": {"format": "generate-jobs", "mix": "philly", "count": $2}} }
END2
}
jobs "$in/jobs.json" 12
jobs "$in/fewer.json" 9
cat >"$in/study.json" <<'END2'
{ "name": "small", "scenario": "jobs.json", "seeds": 2, "axes": [{"key": "cluster.nodes", "values": [2, 3]}] }
END2
cat >"$in/search.json" <<'END2'
{ "scenario": "jobs.json", "search": {"smallest": "cluster.nodes", "from": 1, "to": 3,
                                      "where": [{"metric": "job.finished", "at_least": 12}]} }
END2
for i in 1 2; do run 0 run "$in/jobs.json" --seed $i -o "$in/r.db" -q; done
for i in 1 2; do run 0 sweep "$in/study.json" --shard $i/2 -o "$in/$i.db" -q; done
for i in 10 300; do run 0 trace generate -o "$in/$i.csv" --set count=$i; done
for i in 5 9; do
    printf 'kernel,tokens,width,time_us,group\nnorm,1,4096,5,a\nnorm,64,4096,6,a\nnorm,512,4096,%s,b\nnorm,4096,4096,60,b\n' $i \
        >"$in/kernels$i.csv"
    {
        echo load,busy_frac,instant_w,flop_per_s,bytes_per_s
        echo 'idle with context,0,130,0,0'
        for k in 1 2 3 4 5; do
            echo "gemm,1,$((210 + i * 10 * k)),$((98900000000000 * k)),0"
            echo "memory,1,$((210 + 60 * k)),0,$((720000000000 * k))"
        done
    } >"$in/loads$i.csv"
    {
        echo model,hardware,prompt_size,batch_size,token_size,prompt_time,token_time,tensor_parallel
        for n in 128 512 1024; do
            for tp in 2 4 8; do echo "llama2-70b,a100-80gb,$n,1,128,$((n / tp + 6 * i)),$((80 / tp + 25)),$tp"; done
        done
    } >"$in/iterations$i.csv"
done
for i in 5 9; do
    mkdir "$in/kit$i"
    cp "$in/kernels$i.csv" "$in/kit$i/kernels-isolated.csv"
    cat >"$in/kit$i/manifest.json" <<'END2'
{ "kit": 1, "date": "today", "gpu": "NVIDIA A100-SXM4-80GB", "gpus": 1, "sms": 108, "memory_bytes": 85899345920,
  "parts": {"elementwise": {"status": "done", "measured": 4, "planned": 4, "seconds": 1, "files": ["kernels-isolated.csv"]}} }
END2
done
for folder in own was/own; do
    sed 's/"jobs.json"/"..\/jobs.json"/' "$in/study.json" >"$in/$folder/f.study.json"
    cat >"$in/$folder/f.json" <<'END2'
{ "title": "GPUs", "paper": "a test", "place": "figure 1", "setup": [{"says": "two nodes", "tag": "derived"}], "studies": {"all": "f.study.json"},
  "charts": [{"title": "GPUs in use", "x": {"title": "run"}, "y": {"title": "GPUs"},
              "series": [{"name": "ours", "study": "all", "sql": "select run_id as x, value as y from metric where name = 'cluster.gpus'"}]}],
  "claims": [{"says": "there are GPUs", "value": 16, "tag": "derived", "tolerance": 0.5,
              "test": {"kind": "level", "of": {"study": "all", "sql": "select min(value) from metric where name = 'cluster.gpus'"}}}],
  "fitted": [], "notes": [] }
END2
done
sed -i 's/\.\.\/jobs/..\/..\/fewer/' "$in/was/own/f.study.json"
sed -i 's/"title": "GPUs",/"title": "GPUs before",/' "$in/was/own/f.json"

$compiler -std=c17 -fPIC -shared -I. -o "$in/area.so" policies/examples/smallest_area.c || complain 'no plug-in'

# What writes. conform --keep writes scenarios as trace convert writes traces.
cat >"$T/table" <<'END2'
run      | a  | - | run ../in/jobs.json -o r.db -q | + --resume
append   | a  | run ../in/fewer.json -o r.db -q | run ../in/jobs.json -o r.db -q | + --resume
timeline | a  | run ../in/fewer.json -o r.db --timeline t.gz | run ../in/jobs.json -o r.db -q --timeline t.gz | + --resume
from     | a  | run ../in/fewer.json -o r.db -q | run --from ../in/r.db:1 -o r.db -q | + --resume
plugin   | aw | - | run ../in/jobs.json --set jobs.scheduler=smallest-area --plugin ../in/area.so -o r.db -q | + --resume
sweep    | sw | - | sweep ../in/study.json -o s.db -q -j 2 | + --resume
search   | sw | - | sweep ../in/search.json -o s.db -q -j 1 | + --resume
shard    | sw | - | sweep ../in/study.json --shard 1/2 -o s.db -q | + --resume
merge    |    | - | merge ../in/1.db ../in/2.db -o m.db | +
figure   | sw | figure run ../in/was/own/f.json -o . -q | figure run ../in/own/f.json -o . -q --gnuplot | + --resume
report   |    | report ../in/r.db:1 -o r.html | report ../in/r.db:2 -o r.html | +
export   |    | export ../in/r.db:1 job -o j.csv | export ../in/r.db:2 job -o j.csv | +
generate |    | trace generate -o t.csv --set count=10 | trace generate -o t.csv --set count=3000 | +
convert  |    | trace convert ../in/10.csv -f csv -o t.gz | trace convert ../in/300.csv -f csv -o t.gz | +
kernels  |    | - | calibrate --gpu a100-80-sxm ../in/kernels9.csv -o c.json --report plots | +
refit    |    | calibrate --gpu a100-80-sxm ../in/kernels5.csv -o c.json | calibrate --gpu a100-80-sxm ../in/kernels9.csv -o c.json | +
power    |    | calibrate power --gpu h200-sxm ../in/loads5.csv -o c.json | calibrate power --gpu h200-sxm ../in/loads9.csv -o c.json | +
profile  |    | profile ../in/kit5 -o c.json | profile ../in/kit9 -o c.json | +
kit      |    | - | profile --kit kit | +
engine   |    | calibrate --engine vllm-0.2 ../in/iterations5.csv -o c.json | calibrate --engine vllm-0.2 ../in/iterations9.csv -o c.json | +
baseline | wp | check --baseline g.json ../in/fewer.json --update -q | check --baseline g.json ../in/jobs.json --update -q | check --baseline g.json -q; +
verdict  | wv | check --baseline g.json ../in/fewer.json --update -q | check --baseline g.json -q --junit j.xml --markdown m.md | +
END2
# Memory that GSL itself does not give back when it gets no more is not ours.
echo leak:libgsl >"$T/suppressions"
walk() { # KINDS
    last="the walk, $1"
    ORRERY=$(realpath "$ORRERY") SHIM=$T/shim.so KINDS=$1 ORRERY_DATA=$PWD \
        ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0 \
        LSAN_OPTIONS=suppressions=$T/suppressions:print_suppressions=0 \
        "$T/walk" "$T/table" "$T" $FAULTS || complain 'see above'
}
[ -n "$FULL" ] || walk write,flush,kill,die,limit,moment
sanitized
[ -n "$FULL" ] || walk alloc
[ -z "$FULL" ] || walk alloc,write,flush,kill,die,limit,moment
finish
