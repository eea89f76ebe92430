-- The twenty slowest requests of each run, and where their time went. Parts: queue_s from arrival to the first
-- iteration, prefill_s to the first token, decode_s to the last one, all in seconds; mostly: the longest part;
-- longest_gap_s: the longest wait for one token; percentile: of its e2e_s in the run, in percent.
CREATE TEMP VIEW IF NOT EXISTS slowest_requests AS
SELECT run_id, id, service, replica, prompt_tokens, output_tokens, e2e_s, queue_s,
    ttft_s - queue_s AS prefill_s, e2e_s - ttft_s AS decode_s, max_gap_s AS longest_gap_s, preemptions,
    CASE max(queue_s, ttft_s - queue_s, e2e_s - ttft_s)
        WHEN queue_s THEN 'queued' WHEN ttft_s - queue_s THEN 'prefill' ELSE 'decode' END AS mostly,
    100.0 * (n - place) / n AS percentile
FROM (SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY e2e_s DESC, service, id) - 1 AS place,
          count(*) OVER (PARTITION BY run_id) AS n
      FROM request WHERE status = 'finished')
WHERE place < 20
ORDER BY run_id, place;
