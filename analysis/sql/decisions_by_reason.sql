-- What did the policies decide, and why? One row per run, service (empty: of jobs), policy, action and kind of reason
-- (its text up to the first colon). decisions: how many; subjects: different requests of that service, or jobs;
-- first_s, last_s: when, in seconds; example: one reason in full. Where requests went is kept by `run --keep decisions`
-- only.
CREATE TEMP VIEW IF NOT EXISTS decisions_by_reason AS
SELECT run_id, service, policy, action, substr(reason, 1, instr(reason || ':', ':') - 1) AS kind, count(*) AS decisions,
    count(DISTINCT subject) AS subjects, min(t_s) AS first_s, max(t_s) AS last_s, min(reason) AS example
FROM decision
GROUP BY run_id, service, policy, action, kind
ORDER BY run_id, decisions DESC, service, policy, action, kind;
