-- Runs side by side: one row per run, with what the study varies and the metrics asked for first; NULL where absent.
-- params: key=value of the study, separated by blanks; times in seconds; `orrery list metrics` defines each metric. All
-- of them, one per row: table metric.
CREATE TEMP VIEW IF NOT EXISTS metrics_by_run AS
SELECT r.id AS run_id, r.name, r.seed,
    (SELECT group_concat(key || '=' || value, ' ') FROM (SELECT * FROM param WHERE run_id = r.id ORDER BY key)) AS params,
    r.status,
    max(iif(m.name = 'request.finished', m.value, NULL)) AS requests,
    max(iif(m.name = 'request.ttft_s.p50', m.value, NULL)) AS ttft_p50_s,
    max(iif(m.name = 'request.ttft_s.p99', m.value, NULL)) AS ttft_p99_s,
    max(iif(m.name = 'request.tpot_s.mean', m.value, NULL)) AS tpot_mean_s,
    max(iif(m.name = 'request.tpot_s.p99', m.value, NULL)) AS tpot_p99_s,
    max(iif(m.name = 'request.e2e_s.mean', m.value, NULL)) AS e2e_mean_s,
    max(iif(m.name = 'service.output_tokens_per_s', m.value, NULL)) AS output_tokens_per_s,
    max(iif(m.name = 'job.finished', m.value, NULL)) AS jobs,
    max(iif(m.name = 'job.queue_s.mean', m.value, NULL)) AS job_queue_mean_s,
    max(iif(m.name = 'job.jct_s.mean', m.value, NULL)) AS jct_mean_s,
    max(iif(m.name = 'cluster.gpu_util', m.value, NULL)) AS gpu_util
FROM run AS r LEFT JOIN metric AS m ON m.run_id = r.id
GROUP BY r.id
ORDER BY r.id;
