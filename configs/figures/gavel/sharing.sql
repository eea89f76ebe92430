-- Makespans of 300 jobs, in hours, mean over seeds; and completion times of the jobs in steady state.
create temp view span as
select avg(metric.value) / 3600 as hours from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.makespan_s';

create temp view steady as
select avg(job.jct_s) / 3600 as hours from run join job on job.run_id = run.id
where run.status = 'done' and job.id between 4000 and 4999;
