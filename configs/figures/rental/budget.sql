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

-- The widths of both types at a budget: all jobs of a run are of the type that its name says.
create temp view width as
select budget, max(width) filter (where type = 'amdahl') as amdahl, max(width) filter (where type = 'root') as root
from (select cast(run.scenario ->> '$.market.renting.budget_gpus' as real) as budget, run.name as type,
             job.gpu_s / job.jct_s as width
      from run join job on job.run_id = run.id where run.status = 'done')
group by budget;
