-- Sums and means over the seeds, by the share of causes that are found automatically.
create temp view restarts as
select cast(run.scenario ->> '$.failures.recovery.automatic' as real) as automatic,
       sum(staff.value) as by_staff, sum(stops.value) as interrupts, avg(goodput.value) as goodput
from run join metric as staff on staff.run_id = run.id and staff.name = 'failure.by_staff'
join metric as stops on stops.run_id = run.id and stops.name = 'failure.interrupts'
join metric as goodput on goodput.run_id = run.id and goodput.name = 'job.goodput_frac'
where run.status = 'done' group by 1;
