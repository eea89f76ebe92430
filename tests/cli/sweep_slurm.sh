#!/bin/sh
# A study as a Slurm job array, on a cluster of this one machine that is set up in a directory of its own: the merged
# shards are the rows of a sweep without Slurm. Takes half a minute: only when asked for by ORRERY_SLURM=1, and as root.
. tests/cli/lib.sh

[ -n "$ORRERY_SLURM" ] || skip 'takes half a minute; ORRERY_SLURM=1 runs it'
PATH=$PATH:/usr/sbin
for tool in munged slurmctld slurmd sbatch; do
    command -v $tool >/dev/null || skip "$tool is not installed (Debian: munge slurmctld slurmd slurm-client)"
done
[ "$(id -u)" = 0 ] || skip 'needs root'

host=$(hostname -s)
S=$(mktemp -d /tmp/orrery-slurm-XXXXXX) # paths of sockets are short
mkdir "$S/state" "$S/spool"
pids=
trap 'kill $pids 2>/dev/null; wait; rm -rf "$S"' EXIT
cat >"$S/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$S/munge
CredType=cred/munge
StateSaveLocation=$S/state
SlurmdSpoolDir=$S/spool
SlurmctldPidFile=$S/slurmctld.pid
SlurmdPidFile=$S/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo 'CgroupPlugin=cgroup/v1' >"$S/cgroup.conf"
export SLURM_CONF="$S/slurm.conf"
dd if=/dev/urandom of="$S/key" bs=1024 count=1 2>/dev/null
chmod 400 "$S/key"
munged --foreground --force --key-file="$S/key" --socket="$S/munge" --pid-file="$S/munge.pid" \
    --log-file="$S/munge.log" --seed-file="$S/munge.seed" >"$S/munged.out" 2>&1 &
pids="$pids $!"
slurmctld -D -f "$SLURM_CONF" >"$S/slurmctld.log" 2>&1 &
pids="$pids $!"
slurmd -D -f "$SLURM_CONF" -N "$host" >"$S/slurmd.log" 2>&1 &
pids="$pids $!"
for i in $(seq 40); do
    sinfo -h -o %t 2>/dev/null | grep -q idle && break
    [ $i -lt 40 ] || { cat "$S"/*.log; skip 'this machine cannot hold a Slurm node'; }
    sleep 0.5
done

studied >"$T/base.json"
cat >"$T/study.json" <<'END'
{ "name": "array", "scenario": "base.json", "keep": "rows", "seeds": 5,
  "axes": [{"key": "services.chat.replicas", "values": [1, 2, 3, 4]}] }
END
ORRERY=$(realpath "$ORRERY")
ORRERY_DATA=$PWD
sbatch=$PWD/configs/studies/sweep.sbatch
export ORRERY ORRERY_DATA
last="sbatch --array=3-5 sweep.sbatch study.json results"
(cd "$T" && sbatch --wait --array=3-5 "$sbatch" study.json results >out 2>err) ||
    { complain 'the job array fails'; cat "$T"/err "$T"/slurm-*.out; }
run 0 merge "$T"/results.shard-*.db -o "$T/results.db"
run 0 sweep "$T/study.json" -o "$T/alone.db" -q
content() { sqlite3 "$1" .dump | grep -v '^INSERT INTO run_cost'; }
[ "$(content "$T/results.db")" = "$(content "$T/alone.db")" ] || complain 'the job array gives other rows'
sql "$T/results.db" 'select count(*) from run' 20
equal "$(ls "$T" | grep -c 'results.shard-[345].db$')" 3 'number of shards'
finish
