-- One row per run: the mean response time in mean run times of a job on one GPU, and what was rented.
create temp view mean as
select cast(run.scenario ->> '$.market.renting.budget_gpus' as real) as budget,
       run.scenario ->> '$.jobs.trace.types.root.run_time.law' as law,
       run.seed as seed,
       jct.value / 3600 as response,
       gpus.value as gpus
from run
join metric as jct on jct.run_id = run.id and jct.name = 'job.jct_s.mean'
join metric as gpus on gpus.run_id = run.id and gpus.name = 'rental.gpus.mean'
where run.status = 'done';

-- The two widths of a run, the narrower one first, which is that of Amdahl's law where they differ; where the square root has one
-- GPU, it is the other way round.
create temp view width as
select budget, case when budget < 1.2 then high else low end as amdahl, case when budget < 1.2 then low else high end as root
from (select cast(run.scenario ->> '$.market.renting.budget_gpus' as real) as budget,
             min(job.gpu_s / job.jct_s) as low, max(job.gpu_s / job.jct_s) as high
      from run join job on job.run_id = run.id where run.status = 'done' group by run.id);
