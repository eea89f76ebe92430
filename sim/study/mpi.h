/* The ranks of an MPI job (struct ranks). Compiled in with `make MPI=1` only. */
#ifndef ORRERY_STUDY_MPI_H
#define ORRERY_STUDY_MPI_H

#include "sim/study/workers.h"

/* Joins the job; a program not started by mpirun is its only rank. */
struct ranks mpi_start(void);

/* Leaves the job; every rank must call this. */
void mpi_stop(void);

/* Whether `code` is 0 on all ranks; every rank must call this. */
bool mpi_agree(int code);

#endif
