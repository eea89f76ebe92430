-- Mean makespan of an evaluation, over its seeds.
create temp view makespan as
select cast(run.scenario ->> '$.cluster.nodes' as integer) as nodes,
       cast(run.scenario ->> '$.jobs.trace.spread' as real) as spread,
       run.scenario ->> '$.jobs.trace.coordinator' as coordinator,
       avg(metric.value) as s
from run join metric on metric.run_id = run.id and metric.name = 'job.makespan_s'
where run.status = 'done' group by 1, 2, 3;

-- How many times shorter it is than without a coordinator.
create temp view gain as
select a.nodes, a.spread, b.coordinator, a.s / b.s as gain
from makespan as a join makespan as b on a.nodes = b.nodes and a.spread = b.spread
where a.coordinator = 'none';

-- Each spread, the next one, and by which share of the way between them four nodes gain 1.8.
create temp view step as
select low.spread as low, high.spread as high, (1.8 - low.gain) / (high.gain - low.gain) as share
from gain as low join gain as high
on high.spread = (select min(spread) from gain where spread > low.spread)
where low.nodes = 4 and high.nodes = 4 and low.coordinator = 'elastic' and high.coordinator = 'elastic'
and low.gain < 1.8 and high.gain >= 1.8
order by low.spread limit 1;

-- Gains at that spread.
create temp view fit as
select low.nodes, low.coordinator, step.low + step.share * (step.high - step.low) as spread,
       low.gain + step.share * (high.gain - low.gain) as gain
from step join gain as low on low.spread = step.low
join gain as high on high.spread = step.high and high.nodes = low.nodes and high.coordinator = low.coordinator;

-- Seconds in which a trial loads the model, by the trials at once.
create temp view loading as
select cast(run.scenario ->> '$.jobs.trace.datasets' as integer) as trials, metric.value as s
from run join metric on metric.run_id = run.id and metric.name = 'job.jct_s.mean' where run.status = 'done';
