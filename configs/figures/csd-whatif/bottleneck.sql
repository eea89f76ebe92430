-- One row per run: the drives, the GPU's port, the prompts, tokens per second, and the share of time, or the seconds,
-- in which each resource sets the pace. Bandwidths in GB/s.
create temp view point as
select run.scenario ->> '$.services.answers.kv.tiers.csd.channels' as channels,
       cast(rtrim(run.scenario ->> '$.services.answers.kv.tiers.csd.channel_bandwidth', 'GMB/s') as real) as channel_bandwidth,
       cast(rtrim(run.scenario ->> '$.services.answers.kv.tiers.csd.link', 'GMB/s') as real) *
           iif(run.scenario ->> '$.services.answers.kv.tiers.csd.link' like '%MB/s', 1e-3, 1) as link,
       cast(rtrim(run.scenario ->> '$.cluster.pcie', 'GB/s') as real) as port,
       run.scenario ->> '$.services.answers.kv.tiers.csd.count' as drives,
       run.scenario ->> '$.services.answers.trace.prompt.tokens' as context,
       (select value from metric where run_id = run.id and name = 'service.output_tokens_per_s') as tokens_per_s,
       100 * (select value from metric where run_id = run.id and name = 'bottleneck.flash_frac') as flash,
       100 * (select value from metric where run_id = run.id and name = 'bottleneck.device_frac') as device,
       100 * (select value from metric where run_id = run.id and name = 'bottleneck.link_frac') as link_share,
       100 * (select value from metric where run_id = run.id and name = 'bottleneck.gpu_frac') as gpu,
       100 * (select value from metric where run_id = run.id and name = 'bottleneck.hbm_frac') as hbm,
       (select value from metric where run_id = run.id and name = 'bottleneck.device_frac') *
           (select value from metric where run_id = run.id and name = 'sim.end_s') as device_s,
       (select value from metric where run_id = run.id and name = 'bottleneck.link_frac') *
           (select value from metric where run_id = run.id and name = 'sim.end_s') as link_s
from run
where run.status = 'done';
