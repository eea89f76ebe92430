-- One row per run: which half of stall-free batching is left out, the rate of requests, and what users see.
create temp view ablation as
select case when run.scenario ->> '$.services.yi.batching.chunked' = 0 then 'hybrid only'
            when run.scenario ->> '$.services.yi.batching.hybrid' = 0 then 'chunked only'
            else 'both' end as batching,
       cast(rtrim(rate.value, '/s') as real) as rate,
       ttft.value as ttft_p50_s,
       gap.value as gap_p99_s
from run
join param as rate on rate.run_id = run.id and rate.key = 'services.yi.trace.arrival.rate'
join metric as ttft on ttft.run_id = run.id and ttft.name = 'request.ttft_s.p50'
join metric as gap on gap.run_id = run.id and gap.name = 'token.gap_s.p99'
where run.status = 'done';
