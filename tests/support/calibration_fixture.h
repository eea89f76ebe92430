/* Calibration files made up for a test, of whatever parameters the classes have. */
#ifndef ORRERY_TESTS_SUPPORT_CALIBRATION_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_CALIBRATION_FIXTURE_H

#include "models/kernel.h"

/* One class of one set; sets stand together. */
struct calibration_part {
    const char *set;
    enum kernel_class class;
    double start_s;  /* its first parameter; the others have their initial values */
    double high;     /* fitted from 0 to this along every axis, in all formats; 0: without a range */
    const char *key; /* a member more, as JSON with ' for ", or NULL */
};

/* Writes the file of a GPU "made-up", or fails the test. */
void calibration_fixture_write(const char *path, const struct calibration_part *parts, size_t n);

/* All classes of a GPU in one set, with their initial values and the same range. */
void calibration_fixture_write_all(const char *path, const char *gpu, double high);

#endif
