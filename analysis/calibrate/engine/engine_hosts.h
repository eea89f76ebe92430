/* Constants of an engine by host, and how well they carry over to an LLM that they have not seen.
 *
 * The CPU of a server launches kernels, schedules and samples, so its constants are those of the host. Rows name the
 * GPU, whose usual host is meant. Where rows of several hosts are fitted, a first fit is to all of them
 * together; its constants are for GPUs that were not measured. A second fit gives each host its launch times and its
 * constants by degree of tensor parallelism. Constants that are common to all degrees stay those of the first. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_HOSTS_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_ENGINE_HOSTS_H

#include "analysis/calibrate/engine/engine_fit.h"

/* Fits the terms of the recipe as engine_fit does, and, if the fitted points are of several hosts, by host as well.
 * Returns what engine_fit returns. */
int engine_hosts_fit(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                     struct arena *arena, struct engine_preset *preset, struct diag *diag);

/* The error of one LLM's rows on one host, by constants that were fitted to the other LLMs, by host, or with `joint`
 * to all hosts together. Rows count that are `in_range`. rows is 0 if there are none, or no others on that host.
 * Returns 0 or SIM_E_NOMEM. */
int engine_hosts_leave_out(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                           const char *gpu, const char *llm, bool joint, struct arena *arena, struct fit_error *error);

/* Lists the error of every host and LLM ("a100-80-sxm__bloom-176b") that can be left out, by first occurrence, as
 * struct calibration_error. Returns 0 or SIM_E_NOMEM. */
int engine_hosts_list_left_out(const struct engine_recipe *recipe, const struct engine_point *points, size_t n,
                               struct arena *arena, struct config_list *errors);

#endif
