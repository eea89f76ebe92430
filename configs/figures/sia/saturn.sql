-- Means over the runs: completion times and makespans in hours.
create temp view mean as
select avg(jct.value) / 3600 as jct_h, avg(span.value) / 3600 as makespan_h
from run
join metric as jct on jct.run_id = run.id and jct.name = 'job.jct_s.mean'
join metric as span on span.run_id = run.id and span.name = 'job.makespan_s'
where run.status = 'done';
