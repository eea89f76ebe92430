-- GPU time that saves cost, by parameters in 1e9 and by the design.
create temp view saves as
select cast(run.scenario ->> '$.jobs.types.default.checkpoint.params' as real) / 1e9 as params,
       run.scenario ->> '$.jobs.types.default.checkpoint.model' as model, metric.value as gpu_s
from run join metric on metric.run_id = run.id and metric.name = 'job.checkpoint_gpu_s.sum' where run.status = 'done';
