-- Share of the GPU time that errors cost, mean of the seeds, by how many of the three terms are C4's. Saves are apart.
create temp view errors as
with shares as (
    select (run.scenario ->> '$.failures.causes.node.detection.mean' = '30s') +
           (cast(run.scenario ->> '$.failures.recovery.automatic' as real) = 1) +
           (run.scenario ->> '$.jobs.types.default.checkpoint.policy.interval' = '600s') as terms,
           max(value) filter (where metric.name = 'job.goodput_frac') as useful,
           max(value) filter (where metric.name = 'job.checkpoint_gpu_s.sum') /
               max(value) filter (where metric.name = 'job.gpu_s.sum') as saves,
           max(value) filter (where metric.name = 'job.makespan_s') as makespan_s
    from run join metric on metric.run_id = run.id where run.status = 'done' group by run.id)
select terms, 1 - avg(useful) - avg(saves) as lost, avg(saves) as saves, avg(useful) as useful,
       avg(makespan_s) as makespan_s
from shares group by 1;
