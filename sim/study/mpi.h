/* The ranks of an MPI job (ranks.h). Compiled in with `make MPI=1` only. */
#ifndef ORRERY_STUDY_MPI_H
#define ORRERY_STUDY_MPI_H

#include "sim/study/ranks.h"

/* Joins the job: alone, when the program was not started by mpirun. */
struct ranks mpi_start(void);

/* Leaves it; every rank must. */
void mpi_stop(void);

/* Whether `code` is 0 on all ranks; all of them must ask. */
bool mpi_agree(int code);

#endif
