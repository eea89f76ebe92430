-- One row per run: requests per second and GPU, and the share of requests that met both limits on the first token and
-- on the time per output token, in percent, by the limits that are held against them.
create temp view attainment as
select cast(rtrim(rate.value, '/s') as real) / gpus.value as rate,
       100 * avg(ttft_s <= 0.2 and tpot_s <= 0.1) as within_200_100_ms,
       100 * avg(ttft_s <= 0.25 and tpot_s <= 0.1) as within_250_100_ms,
       100 * avg(ttft_s <= 0.4 and tpot_s <= 0.1) as within_400_100_ms,
       100 * avg(ttft_s <= 2.5 and tpot_s <= 0.15) as within_2500_150_ms
from run
join request on request.run_id = run.id
join param as rate on rate.run_id = run.id and rate.key = 'services.chat.trace.arrival.rate'
join metric as gpus on gpus.run_id = run.id and gpus.name = 'cluster.gpus_in_use.max'
where run.status = 'done'
group by run.id;
