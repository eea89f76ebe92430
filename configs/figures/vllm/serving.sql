-- One row per run: how the KV cache is held, the rate of requests, and what comes of it.
create temp view serving as
select case run.scenario ->> '$.services.chat.batching.policy'
           when 'vllm-v0' then 'vLLM'
           when 'fastertransformer' then 'FasterTransformer'
           else 'Orca (' || (run.scenario ->> '$.services.chat.batching.reservation') || ')' end as system,
       cast(rtrim(rate.value, '/s') as real) as rate,
       run.seed as seed,
       norm.value as norm_s,
       batch.value as batched,
       100 * held.value as held_pct,
       100 * held.value / reserved.value as held_of_used_pct
from run
join param as rate on rate.run_id = run.id and rate.key = 'services.chat.trace.arrival.rate'
join metric as norm on norm.run_id = run.id and norm.name = 'request.norm_s.mean'
join metric as batch on batch.run_id = run.id and batch.name = 'replica.decode_batch.mean'
join metric as held on held.run_id = run.id and held.name = 'kv.held_frac'
join metric as reserved on reserved.run_id = run.id and reserved.name = 'kv.reserved_frac'
where run.status = 'done';

-- The rate at which the mean normalised latency crosses 0.2 s per token, linear between two rates.
create temp view capacity as
with curve as (select system, rate, avg(norm_s) as norm_s from serving group by system, rate),
     step as (select system, rate, norm_s,
                     lead(rate) over (partition by system order by rate) as next_rate,
                     lead(norm_s) over (partition by system order by rate) as next_s from curve)
select system, min(rate + (next_rate - rate) * (0.2 - norm_s) / (next_s - norm_s)) as rate
from step where norm_s <= 0.2 and next_s > 0.2 group by system;
