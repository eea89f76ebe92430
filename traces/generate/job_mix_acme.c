/* The jobs of Acme's clusters Seren and Kalos by what they were for (Hu et al., NSDI 2024).
 *
 * Published, and taken as it is: the share of the jobs and the run times of each kind, and the GPUs of all jobs together.
 * Which kind asks for how many GPUs, and for how long, is not: the tilts are fitted so that the kinds take the published
 * shares of the GPU time, the jobs of so many GPUs theirs, and a job as many GPU-seconds as the mean. So the curves of run
 * times and GPUs are met by construction; that of GPU time by fit, to 2.0 points on Seren and 0.2 on Kalos.
 *
 * Shares of GPU time are those of the study's treemap, 95.5 % for pretraining on Kalos; its text says 94.0 %. SFT and
 * MLLM on Kalos are among its "Other". */
#include "traces/generate/job_mix.h"

/* Some 280 failures of the infrastructure in the 2.7e10 GPU-seconds of both clusters. */
#define FAILURE_GPU_S 1e8
#define COUNT(array) (sizeof(array) / sizeof *(array))

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

const struct job_kinds seren_kinds = {.n = COUNT(seren_table),
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

const struct job_kinds kalos_kinds = {.n = COUNT(kalos_table),
                                      .kinds = kalos_table,
                                      .longest_s = 625740,
                                      .failure_gpu_s = FAILURE_GPU_S,
                                      .n_gpus = COUNT(kalos_gpus),
                                      .gpus = kalos_gpus,
                                      .n_tilts = COUNT(kalos_tilts),
                                      .tilts = kalos_tilts};
