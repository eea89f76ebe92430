-- Share of the deadlines that are kept, mean of the seeds, by scheduler.
create temp view kept as
select run.scenario ->> '$.jobs.scheduler.policy' as scheduler, avg(value) as kept from run join metric on metric.run_id = run.id and metric.name = 'job.deadline_met_frac'
where run.status = 'done' group by 1;
