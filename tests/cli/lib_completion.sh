# The cases of completion that the shells share. A script defines offers WORDS, which takes the expected words from the
# file $T/wanted, and $assigned: what the shell offers of "KEY=VALUE" before the value. No pipe leads to offers, as it
# would then be another process, whose failures are lost.
completion_cases() {
    while IFS=: read -r typed expected; do
        echo "$expected" | tr ' ' '\n' >"$T/wanted"
        offers "$typed"
    done <<'END'
orrery co:compare conform
orrery run --qu:--queue --quiet
orrery run quickstart --queue :calendar heap
orrery run quick:quickstart
orrery list p:parameters policies prices
orrery explain cos:cost
orrery conform round:round-robin
orrery calibrate --gpu a40:a40
orrery compare row:rows.db rows.txt
END
    orrery list policies | awk -v before="$assigned" '$1 == "routing" { print before $2 }' | LC_ALL=C sort >"$T/wanted"
    offers 'orrery run -s services.chat.routing='
}
