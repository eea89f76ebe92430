-- One row per run: the mean latency of a prefill instance, or of its first stage, at this rate of arrivals.
create temp view instance as
select cast(run.scenario ->> '$.services.prefill.trace.arrival.rate' as real) as rate, metric.value as latency_s
from run
join metric on metric.run_id = run.id and metric.name = 'request.e2e_s.mean'
where run.status = 'done';
