/* SPDX-License-Identifier: MIT */
/* The core of a simulated machine: what a body of statements costs when everything it touches is near.
 *
 * No cycle-accurate pipeline: the steady state of a loop is the largest of three bounds:
 * issue slots over width, work of each kind of unit over its count, and the longest chain of dependences.
 */
#ifndef XR_TARGET_MODEL_CORE_H
#define XR_TARGET_MODEL_CORE_H

#include "nano/spec.h"
#include "target/model/machine.h"

/* Per statement of the body. */
struct xr_demand {
	double slots;                  /* operations started */
	double unit[XR_MACHINE_UNITS]; /* unit-cycles */
	double chain;                  /* cycles of the longest dependence */
	double software;               /* cycles of emulation, which nothing overlaps */
	double loop;                   /* cycles of the loop's own counter, beside which all of this is done */
	double insns, stack_refs, calls;
};

/* 0, or with the reason -1: the machine has no such operation, -2: a statement given as text is none. */
int xr_core_demand(const struct xr_machine *machine, const struct xr_ops_spec *ops, struct xr_demand *out,
                   char reason[static 128]);

/* The cost of one operation as the machine does it: by its section, or for memory, branches and shuffles by default.
 * False: the machine has no such operation. unit -1: takes no unit. */
bool xr_core_op(const struct xr_machine *machine, enum xr_op op, enum xr_type type, struct xr_machine_op *out);

/* Cycles per statement. */
double xr_core_cycles(const struct xr_machine *machine, const struct xr_demand *demand);

/* How often a slower or quicker pace of each of n hardware threads of one core stretches thread 0, because they share
 * units: >= 1. */
double xr_core_contention(const struct xr_machine *machine, const struct xr_demand *const *demand, int n);

/* Latency of a load that hits the first level; of memory when there is no cache. */
double xr_core_load_cycles(const struct xr_machine *machine);
/* Unit that loads and stores take, or -1: an issue slot only. */
int xr_core_mem_unit(const struct xr_machine *machine);
/* Cycles of one integer addition in a chain: the reference of all readings. */
double xr_core_reference(const struct xr_machine *machine);

#endif
