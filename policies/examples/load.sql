-- One row per run: the mean completion time under a scheduler at a load.
create temp view jct as
select run.scenario ->> '$.jobs.scheduler.policy' as scheduler, cast(run.scenario ->> '$.jobs.trace.rate_scale' as real) as x,
       metric.value / 3600 as y
from run
join metric on metric.run_id = run.id and metric.name = 'job.jct_s.mean'
where run.status = 'done';
