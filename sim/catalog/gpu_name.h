/* Names of GPUs as vendors and drivers write them, beside those of the catalog. */
#ifndef ORRERY_CATALOG_GPU_NAME_H
#define ORRERY_CATALOG_GPU_NAME_H

/* How many parts of a catalog's name are words of the reported one, or begin them: "NVIDIA A100-SXM4-80GB" has the
 * three of "a100-80-sxm". 0 unless the first part with a digit is one of them, which names the chip: "h100" of
 * "h100-sxm", "4090" of "rtx-4090". */
int gpu_name_parts(const char *reported, const char *name);

#endif
