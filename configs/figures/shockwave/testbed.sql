-- Means and makespan of a run, and its completion times from the shortest to the longest.
create temp view jct as
select metric.value as mean from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.jct_s.mean';

create temp view span as
select metric.value as s from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.makespan_s';

create temp view fairness as
select metric.value as mean from run join metric on metric.run_id = run.id
where run.status = 'done' and metric.name = 'job.finish_time_fairness.mean';

create temp view ranked as
select row_number() over (order by job.jct_s) as x, job.jct_s as y from run join job on job.run_id = run.id
where run.status = 'done' and job.status = 'finished';
