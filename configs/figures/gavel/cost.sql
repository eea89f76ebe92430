-- What the GPUs that jobs held cost, in dollars, mean over seeds, and the share of the jobs that ended after their SLO.
-- A job's type is MODEL-RUN TIME-SLO, "resnet-50-12h-1.2". Prices are those of the paper's figure 1b (cost.json).
create temp view paid as
select placement.run_id, sum(placement.gpus * (placement.end_s - placement.start_s) / 3600 *
  case placement.gpu when 'v100-16-sxm' then 2.85 when 'p100' then 1.68 else 0.52 end) as usd
from placement join run on placement.run_id = run.id where run.status = 'done' group by 1;

create temp view ended as
select job.run_id, job.jct_s / 3600 as hours, job.status,
  cast(replace(replace(job.type, 'a3c-', ''), 'resnet-50-', '') as real) as run_h,
  cast(substr(job.type, instr(job.type, 'h-') + 2) as real) as slo
from job join run on job.run_id = run.id where run.status = 'done';

create temp view bill as select avg(usd) as usd from paid;

create temp view missed as
select avg(status <> 'finished' or hours > slo * run_h) as share from ended;
