-- One row per run: the design, the bandwidth of a node's drives in GB/s, and the time of the job over its work, less 1.
create temp view cost as
select run.scenario ->> '$.jobs.types.default.checkpoint.model' as model,
       cast(replace(run.scenario ->> '$.jobs.types.default.checkpoint.node_write', 'GB/s', '') as real) as node_gb_per_s,
       (select value from metric where run_id = run.id and name = 'job.makespan_s') / 3600.0 - 1 as overhead
from run
where run.status = 'done';
