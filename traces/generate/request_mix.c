/* The numbers are quantiles and moments taken from the public files; no row of them is here.
 *
 * Prompt and output lengths are drawn independently: in the production traces their rank correlation is 0.07.
 *
 * Arrivals: a Poisson process whose rate has swings of variance v_k and correlation time t_k has, in windows of T, an
 * index of dispersion of counts (variance over mean) of
 *     IDC(T) = 1 + sum_k 2 v_k t_k / rate * (1 - (1 - exp(-T / t_k)) / (T / t_k)),    v_k = (amplitude_k * rate)^2
 * The Azure conversation trace has 5.53 requests/s and an IDC of 1.39, 3.86, 16.1 and 56.1 in 1, 10, 60 and 300 s; the two
 * swings below give 1.39, 3.85, 16.0 and 56.4. Mooncake has 3.40 requests/s and 2.10, 2.89, 7.25 in 10, 60, 300 s; below:
 * 2.03, 3.07, 7.20. The other two files have no times: Poisson, 1 request/s. */
#include "traces/generate/request_mix.h"

#define LIST(array) {sizeof(array) / sizeof *(array), (void *)(array)}
#define MIX(name_, rate, swings, prompt_, output_)                                                                     \
    {                                                                                                                  \
        .name = name_, .arrival = {rate, swings}, .prompt = {LIST(prompt_)}, .output = {LIST(output_)}                 \
    }

static const struct modulator azure_swings[] = {{0.22, 240 * SIM_NS_PER_S}, {0.2, SIM_NS_PER_S / 2}};
static const struct modulator mooncake_swings[] = {{0.076, 880 * SIM_NS_PER_S}, {0.37, SIM_NS_PER_S}};

static const struct length_point azure_prompt[] = {
    {2, 0}, {16, 0.005}, {29, 0.01}, {120, 0.025}, {181, 0.05}, {207, 0.1}, {372, 0.15}, {387, 0.2}, {396, 0.25},
    {403, 0.3}, {414, 0.35}, {703, 0.4}, {984, 0.45}, {1020, 0.5}, {1045, 0.55}, {1071, 0.6}, {1097, 0.65},
    {1130, 0.7}, {1189, 0.75}, {1315, 0.8}, {1877, 0.85}, {2735, 0.9}, {4075, 0.925}, {4083, 0.95}, {4092, 0.975},
    {4142, 0.99}, {4831, 0.995}, {6212, 0.999}, {14050, 1}};

static const struct length_point azure_output[] = {
    {7, 0}, {14, 0.005}, {16, 0.01}, {28, 0.025}, {41, 0.05}, {54, 0.1}, {67, 0.15}, {77, 0.2}, {85, 0.25},
    {91, 0.3}, {96, 0.35}, {103, 0.4}, {113, 0.45}, {129, 0.5}, {151, 0.55}, {177, 0.6}, {217, 0.65}, {384, 0.7},
    {395, 0.75}, {400, 0.8}, {411, 0.85}, {424, 0.9}, {430, 0.925}, {451, 0.95}, {522, 0.975}, {601, 0.99},
    {644, 0.995}, {954, 0.999}, {1000, 1}};

static const struct length_point mooncake_prompt[] = {
    {891, 0}, {893, 0.005}, {894, 0.01}, {896, 0.025}, {901, 0.05}, {964, 0.1}, {1261, 0.15}, {1662, 0.2},
    {2306, 0.25}, {3263, 0.3}, {4250, 0.35}, {4993, 0.4}, {5870, 0.45}, {6909, 0.5}, {8187, 0.55}, {9570, 0.6},
    {11239, 0.65}, {13196, 0.7}, {15368, 0.75}, {17869, 0.8}, {21467, 0.85}, {27367, 0.9}, {31521, 0.925},
    {39552, 0.95}, {59009, 0.975}, {85401, 0.99}, {100886, 0.995}, {121301, 0.999}, {126195, 1}};

static const struct length_point mooncake_output[] = {
    {1, 0}, {1, 0.005}, {3, 0.01}, {3, 0.025}, {10, 0.05}, {24, 0.1}, {46, 0.15}, {100, 0.2}, {156, 0.25},
    {213, 0.3}, {256, 0.35}, {291, 0.4}, {322, 0.45}, {350, 0.5}, {375, 0.55}, {399, 0.6}, {423, 0.65}, {447, 0.7},
    {472, 0.75}, {504, 0.8}, {543, 0.85}, {597, 0.9}, {639, 0.925}, {698, 0.95}, {836, 0.975}, {1120, 0.99},
    {1570, 0.995}, {2000, 0.999}, {2000, 1}};

static const struct length_point sharegpt_prompt[] = {
    {1, 0}, {2, 0.005}, {2, 0.01}, {4, 0.025}, {7, 0.05}, {9, 0.1}, {11, 0.15}, {13, 0.2}, {15, 0.25}, {18, 0.3},
    {21, 0.35}, {24, 0.4}, {29, 0.45}, {35, 0.5}, {44, 0.55}, {55, 0.6}, {74, 0.65}, {101, 0.7}, {143, 0.75},
    {229, 0.8}, {404, 0.85}, {761, 0.9}, {1075, 0.925}, {1423, 0.95}, {2130, 0.975}, {2862, 0.99}, {3284, 0.995},
    {3711, 0.999}, {3973, 1}};

static const struct length_point sharegpt_output[] = {
    {3, 0}, {7, 0.005}, {10, 0.01}, {12, 0.025}, {23, 0.05}, {43, 0.1}, {75, 0.15}, {106, 0.2}, {136, 0.25},
    {167, 0.3}, {201, 0.35}, {232, 0.4}, {260, 0.45}, {286, 0.5}, {314, 0.55}, {341, 0.6}, {371, 0.65}, {405, 0.7},
    {446, 0.75}, {502, 0.8}, {571, 0.85}, {681, 0.9}, {754, 0.925}, {839, 0.95}, {938, 0.975}, {1000, 0.99},
    {1044, 0.995}, {1125, 0.999}, {1734, 1}};

static const struct length_point arxiv_prompt[] = {
    {1, 0}, {31, 0.005}, {73, 0.01}, {331, 0.025}, {747, 0.05}, {1242, 0.1}, {1564, 0.15}, {1802, 0.2}, {1986, 0.25},
    {2150, 0.3}, {2308, 0.35}, {2453, 0.4}, {2596, 0.45}, {2730, 0.5}, {2861, 0.55}, {2996, 0.6}, {3127, 0.65},
    {3249, 0.7}, {3370, 0.75}, {3490, 0.8}, {3597, 0.85}, {3702, 0.9}, {3759, 0.925}, {3813, 0.95}, {3876, 0.975},
    {3934, 0.99}, {3963, 0.995}, {4012, 0.999}, {4054, 1}};

static const struct length_point arxiv_output[] = {
    {5, 0}, {29, 0.005}, {36, 0.01}, {48, 0.025}, {60, 0.05}, {78, 0.1}, {92, 0.15}, {104, 0.2}, {115, 0.25},
    {125, 0.3}, {135, 0.35}, {145, 0.4}, {156, 0.45}, {167, 0.5}, {179, 0.55}, {192, 0.6}, {206, 0.65}, {222, 0.7},
    {242, 0.75}, {268, 0.8}, {304, 0.85}, {372, 0.9}, {438, 0.925}, {737, 0.95}, {2508, 0.975}, {3273, 0.99},
    {3583, 0.995}, {3845, 0.999}, {4056, 1}};

const struct request_mix request_mixes[] = {
    MIX("azure-conversation", 5.53, LIST(azure_swings), azure_prompt, azure_output),
    MIX("mooncake-conversation", 3.4, LIST(mooncake_swings), mooncake_prompt, mooncake_output),
    MIX("sharegpt", 1, {0}, sharegpt_prompt, sharegpt_output),
    MIX("arxiv-summarization", 1, {0}, arxiv_prompt, arxiv_output)};

const char *const request_mix_names[] = {"azure-conversation", "mooncake-conversation", "sharegpt",
                                         "arxiv-summarization", NULL};
