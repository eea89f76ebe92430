-- When and by whom are requests or jobs preempted? One row per run, service (empty: of jobs), policy and sixtieth of
-- the run that has any. from_s, to_s: that stretch, in seconds; preempted: different requests of that service, or jobs;
-- most: the largest number for one of them, and most_id: whose.
CREATE TEMP VIEW IF NOT EXISTS preemption_hot_spots AS
WITH slot AS (
    SELECT d.run_id, service, policy, subject, m.value / 60 AS width_s, CAST(t_s / (m.value / 60) AS INTEGER) AS slot
    FROM decision AS d JOIN metric AS m ON m.run_id = d.run_id AND m.name = 'sim.end_s'
    WHERE action = 'preempt' AND m.value > 0),
victim AS (
    SELECT run_id, service, policy, slot, max(width_s) AS width_s, subject, count(*) AS n FROM slot
    GROUP BY run_id, service, policy, slot, subject)
SELECT run_id, service, policy, slot * width_s AS from_s, (slot + 1) * width_s AS to_s, sum(n) AS preemptions,
    count(*) AS preempted, max(n) AS most, subject AS most_id
FROM (SELECT * FROM victim ORDER BY subject)
GROUP BY run_id, service, policy, slot
ORDER BY preemptions DESC, run_id, service, policy, slot;
