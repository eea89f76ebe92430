-- Bandwidths in GB/s as DeepEP's benchmarks count them: published, and predicted by the law of scenarios (`runs`), or
-- by the rates that version 2's authors state (`stated`).
create temp view runs as select * from exchange where law = 'scenarios';
create temp view stated as select * from exchange where law = 'stated';

-- Rows of version 2, numbered in their order.
create temp view numbered_runs as
select *, row_number() over (order by rowid) as number from exchange where law = 'scenarios' and version = 2;
create temp view numbered_stated as
select *, row_number() over (order by rowid) as number from exchange where law = 'stated';
