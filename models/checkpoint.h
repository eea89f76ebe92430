/* What checkpoints cost, and how often to take them.
 *
 * A job alternates between an interval of work and a stall of `stall_s` that saves its state. A checkpoint is valid
 * `flush_s` after the stall; until then a failure falls back to the one before. After a failure the job restarts from
 * its latest valid checkpoint within `restart_s`; a failure meanwhile starts the restart over. With exponential
 * failures, mean `mtbf_s` apart, the mean wall time of a useful interval t is (renewal at each failure)
 *
 *     wall(t) = M e^((restart + flush)/M) (e^((t + stall)/M) - 1)
 *
 * which without flush is Daly's equation (FGCS 22, 2006, eq. 13). Young (CACM 17, 1974) and Daly (eq. 37) approximate
 * its optimum in closed form.
 *
 * The time of a save in three designs: with torch.save all GPUs wait until all is written (synchronous); FastPersist
 * (Wang et al., 2024, arXiv:2406.13768): each data-parallel rank writes a slice of its own, under the next step's
 * forward and backward pass; DataStates-LLM (Maurya et al., HPDC 2024): state that does not change in these passes is
 * copied to pinned host memory meanwhile and written to storage later.
 *
 * Leaves out contention with the job's own traffic, and reading the checkpoint back: that is the caller's restart_s. */
#ifndef ORRERY_MODELS_CHECKPOINT_H
#define ORRERY_MODELS_CHECKPOINT_H

struct checkpoint_cost {
    double stall_s, flush_s;
    double restart_s;
    double mtbf_s; /* of the job; INFINITY: it never fails */
};

/* Intervals of work between two saves: sqrt(2 C M); and Daly's, with higher orders (M if C >= 2 M). Both depend on
 * stall_s and mtbf_s alone, and are INFINITY if the job never fails. */
double checkpoint_young_s(const struct checkpoint_cost *cost);
double checkpoint_daly_s(const struct checkpoint_cost *cost);

enum checkpoint_design { CHECKPOINT_SYNCHRONOUS, CHECKPOINT_FASTPERSIST, CHECKPOINT_DATASTATES };

struct checkpoint_save {
    enum checkpoint_design design;
    double bytes;              /* of the whole job */
    double write_bytes_per_s;  /* all writers together */
    double copy_bytes_per_s;   /* datastates: from GPUs to their hosts, all together */
    double buffer_bytes;       /* datastates: pinned memory, all hosts together */
    double overlap_s;          /* fastpersist, datastates: forward and backward pass, without change of state */
};

struct checkpoint_time {
    double stall_s, flush_s; /* as in struct checkpoint_cost */
};

/* Stall and flush of one save in a sequence with `interval_s` of work between saves. datastates stalls longer if
 * storage does not keep up. FastPersist must finish before the weights change, so it stalls max(0, t_save -
 * overlap). */
struct checkpoint_time checkpoint_save_time(const struct checkpoint_save *save, double interval_s);

#endif
