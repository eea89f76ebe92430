/* Run times and GPUs are vertices of the curves that the Acme study (Hu et al., NSDI 2024) drew for the GPU jobs of
 * five clusters, as far as they were drawn. Rates are that table's counts of GPU jobs over the
 * months that the traces span: Seren and Kalos 184 days, Philly 137, Helios 183, PAI 62.
 *
 * Between vertices the logarithm of the run time is uniform, and a number of GPUs is that of the upper vertex: mean run
 * times come out up to 16 %, mean GPUs up to 22 % above the table's. Seren and Kalos stand in job_mix_acme.c. Elsewhere
 * larger jobs run longer: one number per cluster, the correlation of the two normal scores (a Gaussian copula), is set so
 * that a job takes as many GPU-seconds on average as the table says; for PAI, where it says nothing, so that jobs of one
 * GPU have the 68 % of the GPU time that they have in the curves. PAI jobs share GPUs: the curves end at one GPU, and the
 * shares below meet the stated mean of 0.683 and median of 0.5 GPUs.
 *
 * What becomes of a job depends on the GPU time it takes: that of jobs cancelled, which are few and large, is far above
 * their share. The two odds of a cluster are set by the table's shares of jobs and of GPU time; PAI has none there.
 *
 * Hours and weekdays are those of a part of Philly and of Helios' Venus cluster; the others arrive at a constant rate.
 * Bursts within the hour, users and virtual clusters are left out. */
#include "traces/generate/job_mix.h"

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

#define DAY_S 86400.0
#define COUNT(array) (sizeof(array) / sizeof *(array))
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
