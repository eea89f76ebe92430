-- Time of the job, and its speed over that in an idle network, by paths and batch.
create temp view paths as
select coalesce(run.scenario ->> '$.cluster.network.paths', 'ecmp') as paths,
       cast(run.scenario ->> '$.jobs.types.default.training.global_batch' as integer) as batch,
       time.value as jct_s, speed.value as speed
from run join metric as time on time.run_id = run.id and time.name = 'job.makespan_s'
join metric as speed on speed.run_id = run.id and speed.name = 'job.network_speed'
where run.status = 'done';
