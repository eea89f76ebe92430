-- What do the requests of each service get? One row per run, service and quantity, over all finished requests (warm-up,
-- too). Seconds: queue_s, ttft_s, tpot_s, e2e_s, max_gap_s. pNN: the smallest value that NN percent of the requests do
-- not exceed, exact (those in `metric` come from a histogram, within 0.1 %). slowest_id: the request with the maximum.
CREATE TEMP VIEW IF NOT EXISTS service_percentiles AS
WITH value(run_id, service, quantity, id, value) AS (
    SELECT run_id, service, 'queue_s', id, queue_s FROM request WHERE status = 'finished'
    UNION ALL SELECT run_id, service, 'ttft_s', id, ttft_s FROM request WHERE status = 'finished'
    UNION ALL SELECT run_id, service, 'tpot_s', id, tpot_s FROM request WHERE status = 'finished' AND tpot_s NOT NULL
    UNION ALL SELECT run_id, service, 'e2e_s', id, e2e_s FROM request WHERE status = 'finished'
    UNION ALL SELECT run_id, service, 'max_gap_s', id, max_gap_s FROM request
        WHERE status = 'finished' AND max_gap_s NOT NULL),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY run_id, service, quantity ORDER BY value, id) AS place,
        count(*) OVER (PARTITION BY run_id, service, quantity) AS n
    FROM value)
SELECT run_id, service, quantity, max(n) AS requests, avg(value) AS mean,
    min(iif(place >= 0.5 * n, value, NULL)) AS p50, min(iif(place >= 0.9 * n, value, NULL)) AS p90,
    min(iif(place >= 0.95 * n, value, NULL)) AS p95, min(iif(place >= 0.99 * n, value, NULL)) AS p99,
    max(value) AS max, max(iif(place = n, id, NULL)) AS slowest_id
FROM ranked
GROUP BY run_id, service, quantity
ORDER BY run_id, service, quantity;
