-- Mean seconds of a job over the seeds, by its code and steps, with the load of the code in percent of all data.
create temp view time as
select job.type as code, case when job.id < 4 then 80 else 40 end as steps, avg(job.end_s - job.start_s) as s,
       case job.type when 'none' then 0.390625 when 'gc-15' then 6.25 when 'gc-11' then 4.6875
                     when 'sr-sgc' then 5.078125 else 0.7543 end as load
from job join run on job.run_id = run.id where run.status = 'done' group by 1, 2;
