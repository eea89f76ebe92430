#!/bin/sh
# The pictures of the pages are what the program draws: three cheap ones, byte by byte. All of them are small.
. tests/cli/lib.sh
optimised
export ORRERY

last='configs/scenarios/pictures/draw.sh'
sh $last -o "$T" quickstart schedulers prefix-cache >"$T/out" 2>&1 || { complain 'it failed'; cat "$T/out"; }
for name in quickstart schedulers prefix-cache; do
    cmp "$T/$name.svg" "configs/scenarios/pictures/$name.svg" || complain "$name.svg is stale: make pictures"
done
# The picture of the schema has the tables and columns of a results database, and no others.
run 0 run quickstart -q -o "$T/schema.db"
last='analysis/schema.svg'
sqlite3 "$T/schema.db" "select name from sqlite_master where type = 'table' union all
    select c.name from sqlite_master as t, pragma_table_info(t.name) as c where t.type = 'table'" | LC_ALL=C sort >"$T/names"
awk -F'[<>]' '/ font-size="11.00"/ { sub(/ \(key\)$/, "", $3); print $3 }' analysis/schema.svg | LC_ALL=C sort | diff "$T/names" - ||
    complain 'it is stale: make pictures'
n_pictures=0
for picture in configs/scenarios/pictures/*.svg; do
    n_pictures=$((n_pictures + 1))
    [ "$(wc -c <"$picture")" -le 40000 ] || complain "$picture has more than 40 kB"
done
[ $n_pictures -le 20 ] || complain "there are $n_pictures pictures, more than twenty"
# What the page says of the first half hour of deepseek-day without its kernels and halves of a batch.
half_hour() { # METRIC SCALE FORMAT KEY=VALUE...
    metric=$1 scale=$2 format=$3
    shift 3
    run 0 run deepseek-day -q --interval never --set until=30min --keep metrics --json "$@"
    json_of "$T/out" "\$.metrics.\"$metric.mean\"" |
        awk -v scale="$scale" -v format="$format" '{ printf format, scale * $1 }'
}
tokens=services.chat.pools.tokens.cost prompts=services.chat.pools.prompts.cost
tr '\n' ' ' <configs/scenarios/gallery/README.md >"$T/page"
tpot=$(half_hour request.tpot_s 1000 %.0f --set $tokens.overlap=null)
ttft=$(half_hour request.ttft_s 1 %.1f --set $prompts.overlap=null)
nccl=$(half_hour request.ttft_s 1 %.0f --set $tokens.overlap=null --set $tokens.dispatch=all-to-all)
for words in "in one piece make the mean TPOT $tpot ms in decoding, and the mean TTFT $ttft s in prefill" \
    "With NCCL's all-to-all in decoding it is $nccl s"; do
    grep -qF "$words" "$T/page" || complain "the page does not say: $words"
done
finish
