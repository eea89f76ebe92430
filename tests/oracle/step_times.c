/* Step times of training jobs on T4 GPUs, as Pollux's authors measured them, against the equations of
 * models/goodput.h. The parameters are those of configs/figures/pollux/jobload.scenario.json, which are fitted to
 * these times. So this test tells how well the equations describe them: half of the 7,103 step times lie within 8 %
 * and nine of ten within 22 %, for each model. */
#include "models/goodput.h"
#include "sim/core/real_list.h"
#include "tests/support/harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct model {
    const char *name;
    struct step_profile step;
} models[] = {
    {"bert", {0.17207, 0.058564, 0.26795, 0.052796, 1.4314, 0.009461, 2.1658}},
    {"cifar10", {0.017294, 0.00070145, 0.030321, 0.0044997, 0.12791, 0.002299, 2.1564}},
    {"deepspeech2", {0.30936, 0.023772, 9.4698e-06, 0.082905, 0.45054, 0.010632, 1.3576}},
    {"imagenet", {0.062882, 0.0045111, 0.079734, 0.031159, 0.30012, 0.006867, 2.6635}},
    {"ncf", {0.0069807, 6.1385e-07, 0.0022614, 0.0016725, 0.01439, 0.00055369, 1}},
    {"yolov3", {0.18872, 0.025176, 0.055055, 0.072645, 0.76126, 0.01059, 1.1343}},
};

enum { MODELS = sizeof models / sizeof *models, MOST_ROWS = 4000 };

static double errors[MODELS][MOST_ROWS];
static size_t n_errors[MODELS];

/* A placement such as 244 is a number of GPUs on each node. */
static void read_placement(const char *placement, int32_t *nodes, int32_t *gpus)
{
    *nodes = *gpus = 0;
    for (; *placement >= '0' && *placement <= '9'; placement++) {
        *gpus += *placement - '0';
        ++*nodes;
    }
}

/* Columns: application, hardware_suffix, table, placement, local_bsz, step_time, sync_time, num_nodes, num_replicas. */
static void take_row(char *line)
{
    char *cells[9] = {line};
    int32_t nodes, gpus;
    for (int i = 1; i < 9; i++) {
        char *comma = cells[i - 1] != NULL ? strchr(cells[i - 1], ',') : NULL;
        if (comma != NULL) *comma = 0;
        cells[i] = comma != NULL ? comma + 1 : NULL;
    }
    if (cells[8] == NULL || strcmp(cells[1], "none") != 0) return;
    read_placement(cells[3], &nodes, &gpus);
    if (gpus == 0) nodes = atoi(cells[7]), gpus = atoi(cells[8]);
    for (int m = 0; m < MODELS; m++) {
        if (strcmp(models[m].name, cells[0]) != 0 || n_errors[m] == MOST_ROWS) continue;
        const double step_s = goodput_step_s(&models[m].step, gpus, nodes, atof(cells[4]), 0);
        errors[m][n_errors[m]++] = fabs(step_s / atof(cells[5]) - 1);
    }
}

TEST(equations_describe_measured_step_times)
{
    char line[400];
    size_t n = 0;
    const char *path = test_shared("job_traces/sia_dl_training_step_time_profiles.csv");
    if (path == NULL) return;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) take_row(line);
    if (file != NULL) fclose(file);
    for (int m = 0; m < MODELS; m++) {
        CHECK(n_errors[m] > 100);
        qsort(errors[m], n_errors[m], sizeof errors[m][0], real_compare);
        CHECK(errors[m][n_errors[m] / 2] < 0.08);
        CHECK(errors[m][n_errors[m] * 9 / 10] < 0.22);
        n += n_errors[m];
    }
    CHECK_EQ_INT(n, 7103);
}
