/* Lengths: vertices of a line within 0.005 of the distribution function of the public file; no row of it is here.
 * Prompt and output are drawn independently: in the production traces their rank correlation is 0.07.
 *
 * Arrivals: a Poisson process whose rate has swings of variance v_k and correlation time t_k has, in windows of T, an
 * index of dispersion of counts (variance over mean) of
 *     IDC(T) = 1 + sum_k 2 v_k t_k / rate * (1 - (1 - exp(-T / t_k)) / (T / t_k)),    v_k = (amplitude_k * rate)^2
 * The Azure conversation trace has 5.53 requests/s and an IDC of 1.39, 3.86, 16.1 and 56.1 in 1, 10, 60 and 300 s; the
 * two swings below give 1.39, 3.85, 16.0 and 56.4. Mooncake has 3.40 requests/s and 2.10, 2.89, 7.25 in 10, 60, 300 s;
 * below: 2.03, 3.07, 7.20. The other two files have no times: Poisson, 1 request/s. */
#include "traces/generate/request_mix.h"

#define LIST(array)                                                                                                    \
    {                                                                                                                  \
        sizeof(array) / sizeof *(array), (void *)(array)                                                               \
    }
#define MIX(name_, rate, swings, prompt_, output_)                                                                     \
    {                                                                                                                  \
        .name = name_, .arrival = {rate, swings}, .prompt = {LIST(prompt_)}, .output = { LIST(output_) }               \
    }

static const struct modulator azure_swings[] = {{0.22, 240 * SIM_NS_PER_S}, {0.2, SIM_NS_PER_S / 2}};
static const struct modulator mooncake_swings[] = {{0.076, 880 * SIM_NS_PER_S}, {0.37, SIM_NS_PER_S}};

static const struct cdf_point azure_prompt[] = {
    {1, 0},         {180, 0.0357},  {181, 0.0574},  {193, 0.0613},  {199, 0.0713},  {203, 0.0906},  {212, 0.1123},
    {243, 0.1318},  {369, 0.1452},  {390, 0.2134},  {404, 0.3089},  {410, 0.3393},  {422, 0.3676},  {438, 0.3841},
    {488, 0.394},   {861, 0.4098},  {970, 0.4394},  {1008, 0.479},  {1101, 0.6587}, {1151, 0.7242}, {1212, 0.7596},
    {1310, 0.7797}, {1316, 0.8039}, {1321, 0.8101}, {1419, 0.8243}, {2766, 0.9016}, {4068, 0.9169}, {4073, 0.9201},
    {4083, 0.9527}, {4089, 0.9699}, {4098, 0.9808}, {4142, 0.99},   {4185, 0.9927}, {4831, 0.995},  {6212, 0.999},
    {6472, 0.9995}, {14050, 1}};

static const struct cdf_point azure_output[] = {
    {6, 0},        {11, 0.0004},  {17, 0.0114},  {18, 0.0194},  {34, 0.0328},  {46, 0.0676},  {65, 0.144},
    {79, 0.212},   {85, 0.2538},  {95, 0.3459},  {101, 0.3917}, {111, 0.4446}, {138, 0.525},  {160, 0.5677},
    {162, 0.578},  {183, 0.6146}, {216, 0.6401}, {217, 0.6544}, {218, 0.6549}, {372, 0.6712}, {392, 0.7284},
    {395, 0.7541}, {396, 0.776},  {398, 0.7926}, {410, 0.8411}, {415, 0.8749}, {426, 0.9059}, {429, 0.9241},
    {446, 0.9458}, {451, 0.9503}, {468, 0.9603}, {537, 0.9796}, {601, 0.9901}, {626, 0.9938}, {644, 0.995},
    {954, 0.9991}, {1000, 1}};

static const struct cdf_point mooncake_prompt[] = {
    {890, 0},        {893, 0.0061},   {901, 0.052},    {912, 0.0746},   {943, 0.0943},   {978, 0.1035},
    {1387, 0.169},   {1934, 0.2263},  {2797, 0.2782},  {4204, 0.3465},  {5272, 0.4201},  {6331, 0.4745},
    {8987, 0.5814},  {12617, 0.6887}, {16945, 0.7837}, {20777, 0.8432}, {25529, 0.8866}, {29757, 0.9166},
    {34552, 0.9389}, {39552, 0.95},   {52225, 0.9702}, {75672, 0.9867}, {85401, 0.99},   {100886, 0.995},
    {121301, 0.999}, {126195, 1}};

static const struct cdf_point mooncake_output[] = {
    {1, 0},        {2, 0.0066},   {3, 0.0278},   {18, 0.0823},  {31, 0.1235},  {42, 0.1455},
    {145, 0.2421}, {188, 0.275},  {264, 0.3593}, {308, 0.4253}, {353, 0.5048}, {467, 0.7432},
    {483, 0.7707}, {520, 0.8228}, {569, 0.8793}, {637, 0.9248}, {698, 0.95},   {742, 0.9615},
    {990, 0.9863}, {1120, 0.99},  {1570, 0.995}, {2000, 1}};

static const struct cdf_point sharegpt_prompt[] = {
    {1, 0},         {1, 0.0002},   {6, 0.0497},   {7, 0.0659},   {12, 0.1872},   {18, 0.3136},   {26, 0.4281},
    {29, 0.457},    {38, 0.5225},  {50, 0.5806},  {59, 0.6141},  {77, 0.6602},   {118, 0.7264},  {173, 0.7735},
    {253, 0.8101},  {341, 0.8366}, {520, 0.8715}, {769, 0.9015}, {1298, 0.9439}, {1423, 0.9502}, {1553, 0.9568},
    {2757, 0.9889}, {2862, 0.99},  {3284, 0.995}, {3711, 0.999}, {3973, 1}};

static const struct cdf_point sharegpt_output[] = {
    {2, 0},        {6, 0.0023},    {11, 0.0169},   {12, 0.0291},   {14, 0.0349},   {50, 0.115},
    {86, 0.1637},  {151, 0.2771},  {243, 0.4167},  {291, 0.5122},  {377, 0.6608},  {424, 0.7261},
    {465, 0.7703}, {538, 0.8303},  {585, 0.8602},  {697, 0.9076},  {794, 0.939},   {839, 0.95},
    {1000, 0.99},  {1003, 0.9908}, {1044, 0.9952}, {1125, 0.9991}, {1132, 0.9993}, {1734, 1}};

static const struct cdf_point arxiv_prompt[] = {{1, 0},         {113, 0.0139},  {688, 0.0452},  {1095, 0.0828},
                                                {1535, 0.144},  {1817, 0.2036}, {2164, 0.3037}, {2683, 0.482},
                                                {3304, 0.7216}, {3813, 0.9504}, {3866, 0.9717}, {3934, 0.9902},
                                                {3958, 0.9944}, {3963, 0.9952}, {4012, 0.999},  {4054, 1}};

static const struct cdf_point arxiv_output[] = {
    {4, 0},        {28, 0.0044},  {43, 0.0189},  {62, 0.0539},  {73, 0.0842},  {87, 0.1311},
    {106, 0.2099}, {151, 0.4302}, {177, 0.545},  {215, 0.6818}, {242, 0.7512}, {274, 0.8109},
    {318, 0.8633}, {380, 0.9047}, {431, 0.9237}, {540, 0.9404}, {737, 0.95},   {845, 0.9537},
    {3273, 0.99},  {3583, 0.995}, {3845, 0.999}, {4056, 1}};

const struct request_mix request_mixes[] = {
    MIX("azure-conversation", 5.53, LIST(azure_swings), azure_prompt, azure_output),
    MIX("mooncake-conversation", 3.4, LIST(mooncake_swings), mooncake_prompt, mooncake_output),
    MIX("sharegpt", 1, {0}, sharegpt_prompt, sharegpt_output),
    MIX("arxiv-summarization", 1, {0}, arxiv_prompt, arxiv_output)};

#define NAMES "azure-conversation", "mooncake-conversation", "sharegpt", "arxiv-summarization"
const char *const request_mix_names[] = {NAMES, NULL};
const char *const request_class_mix_names[] = {"common", NAMES, NULL};
