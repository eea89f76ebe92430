-- The results schema as a graph of Graphviz: a box for each table with its columns, an edge for each reference. Run
-- it on a results database: `sqlite3 results.db <analysis/schema.sql | dot -Tsvg`. `make pictures` writes schema.svg
-- with it.
.mode list
.headers off
select 'digraph schema { rankdir=LR; nodesep=0.2; ranksep=0.9; bgcolor="white";';
select '    node [shape=record, style=filled, fillcolor="#eef4fb", color="#0072b2", fontname="Helvetica", fontsize=11];';
select '    edge [color="#57606a", arrowsize=0.7, fontname="Helvetica", fontsize=9];';
select '    ' || t.name || ' [label="' || t.name || '|' ||
       (select group_concat(c.name || iif(c.pk, ' (key)', ''), '\l') from pragma_table_info(t.name) as c) || '\l"];'
from sqlite_master as t where t.type = 'table' and t.name not like 'sqlite%' order by t.name;
select '    ' || t.name || ' -> ' || f."table" || ' [label="' || f."from" || '"];'
from sqlite_master as t, pragma_foreign_key_list(t.name) as f where t.type = 'table' order by t.name, f."from";
-- References that are unique only within a run.
select '    placement -> job [label="job", style=dashed];';
select '    lease -> job [label="job", style=dashed];';
select '    decision -> request [label="service, subject", style=dashed];';
select '    decision -> job [label="subject", style=dashed];';
select '}';
