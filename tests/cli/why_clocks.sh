#!/bin/sh
# The clocks of a job on its way: commands of the power policy one after the other without a gap, and many of them in
# one line.
. tests/cli/lib.sh

# Commands as a plug-in gives them, at readings of each 2 s. Each takes effect 40 s later unless a later one replaces
# it.
cat >"$T/script.c" <<'END_OF_C'
#include "sim/world/policy/power_cap.h"
static int decide(void *state, const struct power_view *view, struct power_plan *plan)
{
    static const struct { int at_s, locks; } script[] = {{10, 1}, {54, 0}, {68, 1}, {110, 0}, {160, 1},
                                                         {202, 0}, {244, 1}, {288, 0}, {330, 1}};
    (void)state;
    for (unsigned i = 0; i < sizeof script / sizeof *script; i++) {
        if (view->now_ns != (sim_ns)script[i].at_s * 1000000000) continue;
        if (script[i].locks)
            power_plan_lock(plan, POWER_LOW, 705e6, "as scripted");
        else
            power_plan_free(plan, POWER_LOW, "as scripted");
    }
    return 0;
}
static const struct power_capper script = {.policy = {.abi = POLICY_ABI, .size = sizeof(struct power_capper),
    .family = POLICY_POWER_CAP, .name = "script", .summary = "commands by the clock"}, .decide = decide};
ORRERY_PLUGIN(&script.policy)
END_OF_C
${CC:-cc} -std=c17 -fPIC -shared -I. -o "$T/script.so" "$T/script.c" || complain 'it does not compile'
cat >"$T/clocks.json" <<'END'
{ "cluster": {"gpu": "a100-80-sxm", "nodes": 1, "server_power": {"idle": "680W", "per_gpu_watt": 0.66},
              "power": {"budget": "9kW", "level": "site", "capping": "script"}},
  "jobs": {"trace": {"format": "inline-jobs", "jobs": [{"duration": "400s", "gpus": 2}]},
           "types": {"default": {"power": {"mean": "330W", "clock_share": 0.5, "priority": "low"}}}} }
END
run 0 run "$T/clocks.json" --plugin "$T/script.so" --quiet -o "$T/clocks.db"

# Each command is in force until the next event. The second one is ordered at 68 s, while the first is in force, at the
# same clock; it replaces the release that was ordered at 54 s.
run 0 why "$T/clocks.db" job 0 --plugin "$T/script.so" --csv
sed -n 's/^\([0-9.]*\),power,.*in force from \([0-9.]*\) s to \([0-9.]*\) s.*/\1 \2 \3/p
    s/^\([0-9.]*\),power,.*in force from \([0-9.]*\) s on.*/\1 \2 on/p
    s/^\([0-9.]*\),power,.*the highest clock again.*/\1/p' "$T/out" >"$T/commands"
same "$T/commands" <<'END'
50 50.000000 108.000000
108 108.000000 150.000000
150
200 200.000000 242.000000
242
284 284.000000 328.000000
328
370 370.000000 on
END
equal "$(grep -c ',power,.*runs at 66.7 % of its full speed' "$T/out")" 5 'commands at 66.7 % of the full speed'

# As text, lower clocks that end are one line, and the top has the sums. By 370 s the job has lost a third of 186 s.
# What is left of its 400 s of work takes half as long again.
run 0 why "$T/clocks.db" job 0 --plugin "$T/script.so"
equal "$(grep -c '  power    ' "$T/out")" 2 'lines of power'
out ' 50.000000 s  power    4 lower clocks up to 328.000000 s, for 186 s in all: runs at 66.7 % of its full speed; --all shows each'
out '370.000000 s  power    script: lower clock for priority low in site, ordered at 330.000000 s: 705 MHz: as scripted ('
end_s=$(sqlite3 "$T/clocks.db" 'select end_s from job')
sql "$T/clocks.db" "select abs(end_s - (370 + (400 - (370 - 186 / 3.0)) * 1.5)) < 1e-6 from job" 1
sed -n 2p "$T/out" >"$T/second"
slow_s=$(sqlite3 :memory: "select printf('%.6g', 186 + $end_s - 370)")
holds "$T/second" "lower clocks for $slow_s s: runs at 66.7 % of its full speed then"
run 0 why "$T/clocks.db" job 0 --plugin "$T/script.so" --all
equal "$(grep -c '  power    ' "$T/out")" 8 'lines of power'
finish
