-- Completion times of all jobs of the eight workloads, and their quantiles, by load.
create temp view jct as
select run.scenario ->> '$.jobs.trace.relative_load' as load, job.jct_s as value
from run join job on job.run_id = run.id where run.status = 'done';

create temp view summary as
select load, avg(value) as mean, avg(value) filter (where i in ((n + 1) / 2, (n + 2) / 2)) as median
from (select load, value, row_number() over (partition by load order by value) as i,
             count(*) over (partition by load) as n from jct)
group by load;
