#!/bin/sh
# Settings that nothing reads: a resolved scenario, which gives every key, warns of no more of them than the scenario
# does. Shipped scenarios have none.
. tests/cli/lib.sh

unread() { grep -E "has no effect|by loads alone|never withdrawn|has no price of" "$T/err" | sed "s/.*warning: //"; }

for scenario in $("$ORRERY" list scenarios --json | sed -n 's/.*"scenario": "\([^"]*\)".*/\1/p'); do
    run 0 validate "$scenario"
    [ -z "$(unread)" ] || complain "$scenario: $(unread)"
done

# What is unread in the first run is named again in the second, and nothing else is.
twice() { # ARGUMENTS...
    run 0 validate "$@"
    unread | LC_ALL=C sort >"$T/once"
    [ -s "$T/once" ] || complain "nothing is unread: $*"
    run 0 run "$@" --dump-config
    cp "$T/out" "$T/resolved.json"
    run 0 validate "$T/resolved.json"
    unread | LC_ALL=C sort >"$T/again"
    cmp -s "$T/once" "$T/again" || complain "a resolved scenario is read in another way: $(diff "$T/once" "$T/again")"
}
twice quickstart -s 'services.chat.trace={"format": "generate", "count": 5, "path": null}' -s services.chat.priority=low -s services.chat.information_delay=1s -s services.chat.routing=random
twice philly-cluster -s 'jobs.trace={"format": "generate-jobs", "mix": "philly", "count": 5, "path": null}' -s jobs.estimates.law=exact -s jobs.scheduler=fifo -s jobs.preemptible=true
twice pretraining-failures -s jobs.types.default.checkpoint.overlap=1s -s jobs.types.default.checkpoint.gpu_buffer=1GB
finish
