-- Completion times of all jobs of the eight workloads, and their quantiles.
create temp view jct as
select job.jct_s as value from run join job on job.run_id = run.id where run.status = 'done';

create temp view summary as
select (select avg(value) from jct) as mean,
       (select avg(value) from (select value, row_number() over (order by value) as i, count(*) over () as n from jct)
        where i in ((n + 1) / 2, (n + 2) / 2)) as median;
