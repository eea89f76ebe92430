-- Share of the GPU time that is not useful, mean of the seeds, by how many of the three terms are C4's.
create temp view errors as
select (run.scenario ->> '$.failures.causes.node.detection.mean' = '30s') +
       (cast(run.scenario ->> '$.failures.recovery.automatic' as real) = 1) +
       (run.scenario ->> '$.jobs.types.default.checkpoint.policy.interval' = '10min') as terms,
       1 - avg(goodput.value) as lost, avg(stops.value) as interrupts, avg(lateness.value) as makespan_s
from run join metric as goodput on goodput.run_id = run.id and goodput.name = 'job.goodput_frac'
join metric as stops on stops.run_id = run.id and stops.name = 'failure.interrupts'
join metric as lateness on lateness.run_id = run.id and lateness.name = 'job.makespan_s'
where run.status = 'done' group by 1;
