-- Mean completion time and time until the start in hours, and preemptions: over all jobs
-- and seeds.
create temp view mean as
select avg(job.jct_s) / 3600 as hours, avg(job.start_s - job.submit_s) / 3600 as queue_h,
       sum(job.preemptions) as preemptions
from run join job on job.run_id = run.id where run.status = 'done';
