/* Run times and GPUs are vertices of the curves that the Acme study (Hu et al., NSDI 2024) drew for the GPU jobs of
 * five clusters, as far as they were drawn. Rates are that table's counts of GPU jobs over the
 * months that the traces span: Seren and Kalos 184 days, Philly 137, Helios 183, PAI 62.
 *
 * Between vertices the logarithm of the run time is uniform, and a number of GPUs is that of the upper vertex: mean run
 * times come out up to 16 %, mean GPUs up to 22 % above the table's. Seren and Kalos have kinds of jobs, see below.
 * Elsewhere larger jobs run longer: one number per cluster, the correlation of the two normal scores (a Gaussian
 * copula), is set so that a job takes as many GPU-seconds on average as the table says; for PAI, where it says nothing,
 * so that jobs of one GPU have the 68 % of the GPU time that they have in the curves. PAI jobs share GPUs: the curves
 * end at one GPU, and the shares below meet the stated mean of 0.683 and median of 0.5 GPUs.
 *
 * The final status of a job depends on its GPU time: cancelled jobs are few and large, and take far more than their
 * share of it. The two odds of a cluster are set by the table's shares of jobs and of GPU time; PAI has none there.
 *
 * Hours and weekdays are those of a part of Philly and of Helios' Venus cluster; the others arrive at a constant rate.
 * Bursts within the hour, users and virtual clusters are left out. */
#include "traces/generate/job_mix.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct cdf_point philly_durations[] = {
    {1, 0.00026},      {2, 0.0008},       {4, 0.00166},       {8, 0.00822},       {16, 0.03617},    {32, 0.08422},
    {64, 0.18882},     {128, 0.26986},    {256, 0.31503},     {512, 0.36281},     {1024, 0.54914},  {2048, 0.67465},
    {4096, 0.7928},    {8192, 0.84598},   {16384, 0.90286},   {32768, 0.92714},   {65536, 0.94859}, {131072, 0.96949},
    {262144, 0.98393}, {524288, 0.99316}, {1048576, 0.99801}, {2097152, 0.99955}, {4240676, 1}};

static const struct cdf_point philly_gpus[] = {{1, 0.8242},  {2, 0.8448},  {4, 0.9205},  {8, 0.9891},  {12, 0.9892},
                                               {16, 0.9981}, {24, 0.9982}, {32, 0.9998}, {96, 0.9999}, {128, 1}};

static const struct cdf_point helios_durations[] = {
    {1, 0.03997},     {2, 0.04934},      {4, 0.0635},        {8, 0.07699},     {16, 0.10722},   {32, 0.1615},
    {64, 0.24881},    {128, 0.37811},    {256, 0.56574},     {512, 0.67579},   {1024, 0.75246}, {2048, 0.841},
    {4096, 0.87534},  {8192, 0.9075},    {16384, 0.94364},   {32768, 0.96265}, {65536, 0.9777}, {131072, 0.989},
    {262144, 0.9955}, {524288, 0.99857}, {1048576, 0.99963}, {2097152, 1}};

static const struct cdf_point helios_gpus[] = {
    {1, 0.7219},  {2, 0.7475},   {3, 0.7484},   {4, 0.8047},   {5, 0.805},    {6, 0.806},    {7, 0.8067},
    {8, 0.9469},  {12, 0.947},   {16, 0.9772},  {24, 0.9808},  {32, 0.9935},  {48, 0.9955},  {64, 0.9973},
    {96, 0.9983}, {128, 0.9989}, {192, 0.9995}, {256, 0.9996}, {512, 0.9998}, {768, 0.9999}, {1024, 1}};

static const struct cdf_point pai_durations[] = {
    {1, 0.0008},       {2, 0.00082},      {4, 0.00115},     {8, 0.00427},     {16, 0.02988},    {32, 0.1187},
    {64, 0.21057},     {128, 0.28947},    {256, 0.39622},   {512, 0.50904},   {1024, 0.60789},  {2048, 0.69836},
    {4096, 0.78507},   {8192, 0.87117},   {16384, 0.93186}, {32768, 0.97054}, {65536, 0.99029}, {131072, 0.99692},
    {262144, 0.99951}, {524288, 0.99996}, {626371, 1}};

static const struct cdf_point pai_gpus[] = {{1, 0.9707}, {2, 0.9865}, {3, 0.9876}, {4, 0.9911},
                                            {5, 0.9951}, {6, 0.9952}, {8, 1}};

static const struct cdf_point pai_shares[] = {{250, 0.33}, {500, 0.65}, {1000, 1}};

static const double philly_hours[] = {5.3, 4.1, 4.7, 4.6, 2.9, 4.8, 7.0, 8.7, 4.6, 4.2, 4.3, 3.6,
                                      3.1, 2.9, 2.7, 2.7, 3.7, 2.8, 3.3, 3.0, 4.2, 3.8, 4.7, 4.2};
static const double philly_weekdays[] = {12.3, 15.2, 16.3, 18.4, 20.6, 8.7, 8.5};
static const double helios_hours[] = {3.7, 2.7, 2.5, 1.6, 1.1, 0.9, 0.8, 0.9, 1.6, 3.3, 5.4, 6.1,
                                      4.9, 5.4, 6.5, 6.9, 7.2, 7.2, 5.3, 5.5, 5.6, 5.7, 4.8, 4.3};
static const double helios_weekdays[] = {14.7, 15.3, 18.3, 17.3, 13.6, 9.8, 11.1};

/* --- Seren and Kalos --- */

/* The jobs of Acme's clusters Seren and Kalos by what they were for (Hu et al., NSDI 2024).
 *
 * Published, and taken as it is: the share of the jobs and the run times of each kind, and the GPUs of all jobs
 * together. Which kind asks for how many GPUs, and for how long, is not: the tilts are fitted so that the kinds take
 * the published shares of the GPU time, the jobs of so many GPUs theirs, and a job as many GPU-seconds as the mean. So
 * the curves of run times and GPUs are met by construction; that of GPU time by fit, to 2.0 points on Seren and 0.2 on
 * Kalos.
 *
 * Shares of GPU time are those of the study's treemap, 95.5 % for pretraining on Kalos; its text says 94.0 %. SFT and
 * MLLM on Kalos are among its "Other". */

/* Some 280 failures of the infrastructure in the 2.7e10 GPU-seconds of both clusters. */
#define FAILURE_GPU_S 1e8

static const struct cdf_point seren_gpus[] = {{1, 0.5404},   {2, 0.6543},   {3, 0.6555},   {4, 0.6794},  {5, 0.6796},
                                              {6, 0.6798},   {7, 0.6799},   {8, 0.9675},   {16, 0.9786}, {24, 0.9789},
                                              {32, 0.9882},  {48, 0.9886},  {64, 0.9932},  {96, 0.9934}, {128, 0.9955},
                                              {192, 0.9957}, {256, 0.9973}, {512, 0.9982}, {768, 0.999}, {1024, 1}};

static const struct job_kind seren_table[] = {
    {.name = "Evaluation",
     .jobs_frac = 0.649,
     .durations_pct = {2.307, 2.922, 5.215, 10.569, 25.177, 32.782, 37.375, 49.747, 67.169, 79.966, 88.797, 93.855, 96.526,
                       98.19, 99.063, 99.572, 99.79, 99.91, 99.964, 99.988, 99.998, 100},
     .gpus_tilt = 0},
    {.name = "SFT",
     .jobs_frac = 0.149,
     .durations_pct = {1.018, 1.487, 3.464, 6.56, 12.623, 21.675, 27.59, 37.515, 57.609, 78.797, 89.27, 94.486, 97.338, 98.637,
                       99.158, 99.515, 99.798, 99.924, 99.978, 99.994, 100, 100},
     .gpus_tilt = 0.5289},
    {.name = "Other",
     .jobs_frac = 0.146,
     .durations_pct = {2.495, 3.022, 9.391, 22.829, 29.085, 39.022, 46.811, 58.884, 70.912, 79.48, 85.533, 89.202, 94.19,
                       95.319, 96.649, 98.007, 99.311, 99.627, 99.835, 99.938, 99.992, 100},
     .gpus_tilt = 0.2788},
    {.name = "MLLM",
     .jobs_frac = 0.029,
     .durations_pct = {2.092, 3.07, 5.095, 9.407, 14.697, 27.371, 33.444, 40.849, 50.173, 66.842, 79.703, 85.611, 89.163, 91.3,
                       92.911, 97.313, 98.879, 99.466, 99.827, 99.985, 99.985, 100},
     .gpus_tilt = 0.6291},
    {.name = "Debug",
     .jobs_frac = 0.019,
     .durations_pct = {3.684, 4.617, 6.317, 11.725, 19.341, 29.803, 39.131, 52.155, 68.367, 81.946, 91.215, 95.501, 97.355,
                       98.288, 98.807, 99.221, 99.563, 99.787, 99.858, 99.965, 99.988, 100},
     .gpus_tilt = 0.6049},
    {.name = "Pretrain",
     .jobs_frac = 0.009,
     .durations_pct = {4.272, 5.713, 9.861, 12.096, 15.599, 20.492, 27.372, 34.873, 46.796, 61.798, 73.423, 80.452, 84.078,
                       86.612, 88.45, 91.083, 94.312, 97.193, 98.783, 99.627, 99.975, 100},
     .gpus_tilt = 1.3066},
};

static const struct gpus_tilt seren_tilts[] = {{1, 0},        {8, -0.0721},  {32, 0.0777}, {128, 0.1668},
                                               {256, 0.1213}, {512, 0.1157}, {768, 0.074}, {1024, 0.1975}};

static const struct job_kinds seren_kinds = {.n = COUNT(seren_table),
                                      .kinds = seren_table,
                                      .longest_s = 1209604,
                                      .failure_gpu_s = FAILURE_GPU_S,
                                      .n_gpus = COUNT(seren_gpus),
                                      .gpus = seren_gpus,
                                      .n_tilts = COUNT(seren_tilts),
                                      .tilts = seren_tilts};

static const struct cdf_point kalos_gpus[] = {{1, 0.8628},  {2, 0.8836},   {8, 0.9392},   {16, 0.9426},
                                              {32, 0.9465}, {64, 0.953},   {96, 0.9532},  {128, 0.9568},
                                              {256, 0.969}, {512, 0.9807}, {768, 0.9895}, {1024, 1}};

static const struct job_kind kalos_table[] = {
    {.name = "Evaluation",
     .jobs_frac = 0.928,
     .durations_pct = {0, 0, 0, 0.011, 1.532, 19.512, 39.917, 52.666, 71.815, 81.16, 87.028, 93.796, 98.056, 99.599, 99.838,
                       99.978, 99.978, 100, 100, 100, 100, 100},
     .gpus_tilt = 0},
    {.name = "Pretrain",
     .jobs_frac = 0.032,
     .durations_pct = {0, 0, 0, 0, 0, 4.212, 9.828, 14.353, 25.741, 43.838, 57.098, 65.367, 71.919, 76.911, 82.371, 87.832,
                       93.292, 96.724, 98.908, 99.844, 100, 100},
     .gpus_tilt = 2.3961},
    {.name = "Debug",
     .jobs_frac = 0.027,
     .durations_pct = {0, 0, 0, 0, 1.304, 8.38, 17.318, 25.885, 38.734, 70.764, 88.827, 97.207, 99.069, 99.628, 99.814, 100,
                       100, 100, 100, 100, 100, 100},
     .gpus_tilt = 1.5044},
    {.name = "Other",
     .jobs_frac = 0.013,
     .durations_pct = {0, 0, 0, 0, 2, 20.4, 29.2, 35.2, 46.4, 64.8, 75.2, 79.2, 84, 85.2, 87.6, 90, 92.8, 95.6, 98.8, 98.8, 100,
                       100},
     .gpus_tilt = 0.7135},
};

static const struct gpus_tilt kalos_tilts[] = {{1, 0},        {8, 0.1494},   {32, 0.4243}, {128, 0.1154},
                                               {256, 0.3406}, {512, 0.3142}, {768, 0.237}, {1024, 0.3558}};

static const struct job_kinds kalos_kinds = {.n = COUNT(kalos_table),
                                      .kinds = kalos_table,
                                      .longest_s = 625740,
                                      .failure_gpu_s = FAILURE_GPU_S,
                                      .n_gpus = COUNT(kalos_gpus),
                                      .gpus = kalos_gpus,
                                      .n_tilts = COUNT(kalos_tilts),
                                      .tilts = kalos_tilts};

/* --- The mixes --- */

#define DAY_S 86400.0
#define LIST(array)                                                                                                    \
    {                                                                                                                  \
        COUNT(array), (void *)(array)                                                                                  \
    }
#define CURVES(cluster)                                                                                                \
    .n_durations = COUNT(cluster##_durations), .durations = cluster##_durations, .n_gpus = COUNT(cluster##_gpus),      \
    .gpus = cluster##_gpus

const struct job_mix job_mixes[] = {
    {.name = "seren",
     .arrival = {.rate_per_s = 663813 / (184 * DAY_S)},
     .kinds = &seren_kinds,
     .cancelled = {0.021553, 0.3078},
     .failed = {1.0712, -0.04048}},
    {.name = "kalos",
     .arrival = {.rate_per_s = 19907 / (184 * DAY_S)},
     .kinds = &kalos_kinds,
     .cancelled = {0.021377, 0.2586},
     .failed = {1.1768, -0.08992}},
    {.name = "philly",
     .arrival = {.rate_per_s = 112956 / (137 * DAY_S), .hours = LIST(philly_hours), .weekdays = LIST(philly_weekdays)},
     CURVES(philly),
     .correlation = 0.2355,
     .cancelled = {0.023019, 0.2513},
     .failed = {0.22259, 0.1175}},
    {.name = "helios",
     .arrival = {.rate_per_s = 1580464 / (183 * DAY_S), .hours = LIST(helios_hours), .weekdays = LIST(helios_weekdays)},
     CURVES(helios),
     .correlation = 0.1675,
     .cancelled = {0.20889, 0.08417},
     .failed = {0.30308, -0.03417}},
    {.name = "pai",
     .arrival = {.rate_per_s = 1037085 / (62 * DAY_S)},
     CURVES(pai),
     .n_shares = COUNT(pai_shares),
     .shares = pai_shares,
     .correlation = 0.2}};

const char *const job_mix_names[] = {"seren", "kalos", "philly", "helios", "pai", NULL};
