-- What did the simulation itself cost? One row per run; no part of its result, and different on every machine. wall_s,
-- cpu_s: seconds of ours; simulated_per_wall: simulated seconds in one of ours; peak_mib: memory of the process so far.
CREATE TEMP VIEW IF NOT EXISTS execution_cost AS
SELECT r.id AS run_id, r.name, r.status, c.started_utc, c.wall_s, c.cpu_s, c.events, c.events / c.wall_s AS events_per_s,
    m.value / c.wall_s AS simulated_per_wall, c.peak_rss_bytes / 1048576.0 AS peak_mib
FROM run AS r JOIN run_cost AS c ON c.run_id = r.id LEFT JOIN metric AS m ON m.run_id = r.id AND m.name = 'sim.end_s'
ORDER BY r.id;
