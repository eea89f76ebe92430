-- One row per capacity: GB of drives, and the share of prompt tokens found in GPU memory or loaded from drives, of the
-- whole run with its cold start.
create temp view cache as
select case when size like '%TB' then 1000.0 else 1.0 end * cast(size as real) as capacity_gb,
       (saved + loaded) / (saved + loaded + computed) as hit_frac
from (select run.scenario ->> '$.services.chat.kv.prefix_store.tiers.disk.capacity' as size,
             saved.value as saved, loaded.value as loaded, computed.value as computed
      from run
      join metric as saved on saved.run_id = run.id and saved.name = 'prefix.saved_tokens.sum'
      join metric as loaded on loaded.run_id = run.id and loaded.name = 'store.loaded_tokens.sum'
      join metric as computed on computed.run_id = run.id and computed.name = 'store.computed_tokens.sum'
      where run.status = 'done');
