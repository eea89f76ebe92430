-- Makespans of jobs that all come at once, in hours, mean over seeds; completion times of the jobs in steady state; and
-- the mean finish time fairness of all jobs.
create temp view span as
select avg(metric.value) / 3600 as hours from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.makespan_s';

create temp view steady as
select avg(job.jct_s) / 3600 as hours from run join job on job.run_id = run.id
where run.status = 'done' and job.id between 4000 and 4999;

create temp view fairness as
select avg(metric.value) as mean from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.finish_time_fairness.mean';
