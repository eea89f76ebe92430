-- How full is the site over time? One row per run and moment of the time series (seconds from the start of the run).
-- gpus_in_use: held by services and jobs; used_frac: of all GPUs (NULL when unlimited); requests that wait and that are
-- in a batch, over all services; jobs that wait and that run. Values at that moment, not means.
CREATE TEMP VIEW IF NOT EXISTS utilisation AS
SELECT s.run_id, t_s, sum(iif(series = 'cluster.gpus_in_use', s.value, 0)) AS gpus_in_use,
    sum(iif(series = 'cluster.gpus_in_use', s.value, 0)) / m.value AS used_frac,
    sum(iif(series = 'service.waiting', s.value, 0)) AS requests_waiting,
    sum(iif(series = 'service.running', s.value, 0)) AS requests_running,
    sum(iif(series = 'job.pending', s.value, 0)) AS jobs_pending,
    sum(iif(series = 'job.running', s.value, 0)) AS jobs_running
FROM sample AS s LEFT JOIN metric AS m ON m.run_id = s.run_id AND m.name = 'cluster.gpus'
WHERE series IN ('cluster.gpus_in_use', 'service.waiting', 'service.running', 'job.pending', 'job.running')
GROUP BY s.run_id, t_s
ORDER BY s.run_id, t_s;
