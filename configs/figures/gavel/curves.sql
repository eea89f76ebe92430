-- Mean completion times of the jobs in steady state, in hours, by load: means over seeds.
create temp view steady as
select cast(run.scenario ->> '$.jobs.trace.rate_scale' as real) as rate, avg(job.jct_s) / 3600 as hours
from run join job on job.run_id = run.id
where run.status = 'done' and job.id between 4000 and 4999
group by 1;
