#!/bin/sh
# The warning of recorded values outside of the intervals of their replicates, value by value: values are moved in the
# results, and the warning must count and name them.
. tests/cli/lib.sh

cat >"$T/chat.json" <<END
{"cluster": {"gpu": "h100-sxm"},
 "services": {"chat": {"llm": "llama-3-8b", "trace": {"format": "azure-llm", "path": "$PWD/traces/samples/chat.csv",
    "rate_scale": 4, "limit": 60, "replicate": {"method": "block-bootstrap", "length": "5s"}}}}}
END
cat >"$T/four.json" <<END
{"name": "four", "question": "Which router?", "scenario": "chat.json", "seeds": 4, "keep": "metrics",
 "show": ["request.ttft_s.mean", "request.e2e_s.mean"],
 "axes": [{"key": "services.chat.replicas", "values": [1, 2]},
          {"key": "services.chat.routing", "values": ["round-robin", "least-outstanding"]}]}
END
run 0 sweep "$T/four.json" -q -o "$T/four.db" --json
cp "$T/out" "$T/points"
end() { # low|high POINT METRIC
    json_of "$T/points" "\$.points[$2].$1.\"request.$3\""
}
move() { # POINT METRIC WIDTHS: so many widths of the interval above its lower end
    sqlite3 "$T/four.db" "update metric_recorded set value = $(end low "$1" "$2") + $3 * ($(end high "$1" "$2") - $(end low "$1" "$2"))
        where run_id = 1 + 4 * $1 and name = 'request.$2'"
}
told() { # the warning, if there is one
    run 0 sweep "$T/four.json" -q --resume -o "$T/four.db"
    grep -o 'not like its replicates: .*; blocks' "$T/err" | sed 's/not like its replicates: //; s/; blocks//'
}
shown() { # VALUE: with five digits
    awk "BEGIN { printf \"%.5g\", $1 }"
}

# None is outside, also at an end.
for point in 0 1 2 3; do
    for metric in ttft_s.mean e2e_s.mean; do move $point $metric 0.5; done
done
equal "$(told)" '' 'values inside'

# One: the first, a middle and the last are found alike, above as below.
for at in '0 ttft_s.mean 1.2 replicas 1, routing round-robin' '1 e2e_s.mean -0.2 replicas 1, routing least-outstanding' \
    '3 e2e_s.mean 1.1 replicas 2, routing least-outstanding'; do
    set -- $at
    point=$1 metric=$2 widths=$3
    shift 3
    move "$point" "$metric" "$widths"
    value=$(sqlite3 "$T/four.db" "select value from metric_recorded where run_id = 1 + 4 * $point and name = 'request.$metric'")
    equal "$(told)" "1 of its 8 values lie outside of the 95 % intervals, such as request.$metric $(shown "$value") at $*, outside of $(
        shown "$(end low "$point" "$metric")") .. $(shown "$(end high "$point" "$metric")")" "the value outside at $*"
    move "$point" "$metric" 0.5
done

# Of several the farthest is named.
move 0 e2e_s.mean 1.1
move 1 ttft_s.mean -3
move 2 ttft_s.mean 1.5
case $(told) in
'3 of its 8 values lie outside'*"such as request.ttft_s.mean "*' at replicas 1, routing least-outstanding, outside of '*) ;;
*) complain 'the farthest value is not named' ;;
esac

# A value that is missing is none.
sqlite3 "$T/four.db" "delete from metric_recorded where run_id = 5 and name = 'request.ttft_s.mean'"
case $(told) in
'2 of its 7 values lie outside'*"such as request.ttft_s.mean "*' at replicas 2, routing round-robin, outside of '*) ;;
*) complain 'a missing value counts' ;;
esac

# Without a recorded run there is nothing to warn of, and windows do not compare what a whole trace has more of.
sed 's/"seeds": 4/"seeds": 2, "recorded": false/' "$T/four.json" >"$T/alone.json"
sed 's/"seeds": 4/"seeds": 2/; s/"show": .*/"show": ["request.finished"], "set": {"services.chat.trace.replicate": {"method": "windows", "length": "5s"}},/' \
    "$T/four.json" >"$T/windows.json"
for name in alone windows; do
    run 0 sweep "$T/$name.json" -q -o "$T/$name.db"
    ! grep -q 'not like its replicates' "$T/err" || complain "values are compared in $name"
done
sql "$T/windows.db" "select count(*) > 0 from metric_recorded where name = 'request.finished'" 1
finish
