-- Which share of the requests of each service meets a target of TTFT and one of TPOT, both in seconds? Every request
-- that arrived counts; those that did not finish, or were rejected, meet nothing. met_frac: 0 .. 1. Other targets: take
-- the SELECT with other VALUES.
CREATE TEMP VIEW IF NOT EXISTS slo_attainment AS
WITH ttft(ttft_target_s) AS (VALUES (0.2), (0.5), (1.0), (2.0), (5.0)),
    tpot(tpot_target_s) AS (VALUES (0.025), (0.05), (0.1), (0.2))
SELECT run_id, service, ttft_target_s, tpot_target_s, count(*) AS requests,
    avg(status = 'finished' AND ttft_s <= ttft_target_s AND coalesce(tpot_s, 0) <= tpot_target_s) AS met_frac
FROM request, ttft, tpot
GROUP BY run_id, service, ttft_target_s, tpot_target_s
ORDER BY run_id, service, ttft_target_s, tpot_target_s;
