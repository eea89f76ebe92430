-- Which jobs wait? One row per run and size class of jobs that were started. queue_*_s: from submission to the first
-- start; jct_mean_s: from submission to the end; slowdown_mean: JCT / time for which the job held its GPUs, over jobs
-- that ended and held them for at least a second. That time is gpu_s / gpus: it has saves, waits at starts and repeated
-- work, which the run time in the metric job.slowdown.mean has not. longest_queue_id: the job that waited longest.
CREATE TEMP VIEW IF NOT EXISTS job_waits AS
WITH started AS (
    SELECT *, start_s - submit_s AS queue_s,
        CASE WHEN gpus = 1 THEN '1' WHEN gpus <= 4 THEN '2-4' WHEN gpus <= 8 THEN '5-8' ELSE '9-' END AS size
    FROM job WHERE start_s NOT NULL AND gpus > 0),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY run_id, size ORDER BY queue_s, id) AS place,
        count(*) OVER (PARTITION BY run_id, size) AS n
    FROM started)
SELECT run_id, size AS gpus, max(n) AS jobs, avg(queue_s) AS queue_mean_s,
    min(iif(place >= 0.5 * n, queue_s, NULL)) AS queue_p50_s, min(iif(place >= 0.9 * n, queue_s, NULL)) AS queue_p90_s,
    min(iif(place >= 0.95 * n, queue_s, NULL)) AS queue_p95_s, max(queue_s) AS queue_max_s, max(iif(place = n, id, NULL)) AS longest_queue_id, avg(jct_s) AS jct_mean_s,
    avg(iif(gpu_s >= gpus, jct_s * gpus / gpu_s, NULL)) AS slowdown_mean, sum(preemptions) AS preemptions
FROM ranked
GROUP BY run_id, size
ORDER BY run_id, size;
