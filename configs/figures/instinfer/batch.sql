-- One row per run: the batch, how it is served, tokens per second, and the seconds of which access to KV cache sets the
-- pace: reading flash, and the way to the GPU.
create temp view batch as
select run.scenario ->> '$.services.batch.trace.count' as sequences,
       run.scenario ->> '$.services.batch.kv.offload.keep' as keep,
       run.scenario ->> '$.services.batch.kv.tiers.csd.count' as drives,
       (select value from metric where run_id = run.id and name = 'service.output_tokens_per_s') as tokens_per_s,
       (select value from metric where run_id = run.id and name = 'request.rejected') as rejected,
       (select sum(value) from metric where run_id = run.id and name in ('bottleneck.flash_frac', 'bottleneck.link_frac')) as kv_frac,
       (select value from metric where run_id = run.id and name = 'sim.end_s') as end_s
from run
where run.status = 'done';
