/* What checkpoints cost, and how often to take them.
 *
 * A job computes for an interval, stands still while its state is saved (`stall_s`), and so on. What is saved counts
 * `flush_s` after the stall; until then a failure falls back to the checkpoint before. After a failure it takes
 * `restart_s` before the job computes again, from its latest checkpoint that counts; failures during that time start it
 * over. With exponential failures, mean `mtbf_s` apart, a useful interval t takes in the mean (renewal at each failure)
 *
 *     wall(t) = M e^((restart + flush)/M) (e^((t + stall)/M) - 1)
 *
 * which without flush is Daly's equation (FGCS 22, 2006, eq. 13). Young (CACM 17, 1974) and Daly (eq. 37) give its
 * optimum in closed form, nearly.
 *
 * How long a save takes, in three designs: by torch.save all stand still until all is written (synchronous);
 * FastPersist (Wang et al., 2024, arXiv:2406.13768): each data-parallel rank writes a slice of its own, under the next
 * step's forward and backward pass; DataStates-LLM (Maurya et al., HPDC 2024): what does not change in these passes is
 * copied to pinned host memory meanwhile, and written to storage later.
 *
 * Leaves out contention with the job's own traffic, and reading the checkpoint back: that is the caller's restart_s. */
#ifndef ORRERY_MODELS_CHECKPOINT_H
#define ORRERY_MODELS_CHECKPOINT_H

struct checkpoint_cost {
    double stall_s, flush_s;
    double restart_s;
    double mtbf_s; /* of the job; INFINITY: it never fails */
};

/* Mean time that an interval of `useful_s` takes, and the share of it that is useful. */
double checkpoint_wall_s(const struct checkpoint_cost *cost, double useful_s);
double checkpoint_efficiency(const struct checkpoint_cost *cost, double useful_s);

/* Intervals of work between two saves: sqrt(2 C M); Daly's, with higher orders (M where C >= 2 M); and the one of the
 * highest efficiency, to rounding. All depend on stall_s and mtbf_s alone, and are INFINITY where nothing fails. */
double checkpoint_young_s(const struct checkpoint_cost *cost);
double checkpoint_daly_s(const struct checkpoint_cost *cost);
double checkpoint_optimum_s(const struct checkpoint_cost *cost);

enum checkpoint_design { CHECKPOINT_SYNCHRONOUS, CHECKPOINT_FASTPERSIST, CHECKPOINT_DATASTATES };

/* State of a job whose optimizer is Adam in mixed precision, per parameter: 16-bit weights, and in 32 bits the weights,
 * the momentum and the variance. Those who save 16-bit gradients, too, write 16. */
#define CHECKPOINT_BYTES_PER_PARAM 14.0

struct checkpoint_save {
    enum checkpoint_design design;
    double bytes;              /* of the whole job */
    double write_bytes_per_s;  /* all writers together */
    double copy_bytes_per_s;   /* datastates: from GPUs to their hosts, all together */
    double buffer_bytes;       /* datastates: pinned memory, all hosts together */
    double overlap_s;          /* fastpersist, datastates: forward and backward pass of a step: state does not change */
};

struct checkpoint_time {
    double stall_s, flush_s; /* as in struct checkpoint_cost */
};

/* Of one save of many that follow each other after `interval_s` of work each: datastates waits longer where storage
 * does not keep up with them. FastPersist has to be done before the weights change, so it stalls max(0, t_save -
 * overlap). */
struct checkpoint_time checkpoint_save_time(const struct checkpoint_save *save, double interval_s);

#endif
