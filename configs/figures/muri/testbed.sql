-- The mean completion time of the run.
create temp view jct as
select metric.value as mean from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.jct_s.mean';
