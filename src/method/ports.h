/* SPDX-License-Identifier: MIT */
/* A model of the units of a core: which operation may run on which port, fitted to times of mixes alone.
 *
 * A mix is so many of each of some operations, all independent. It takes as long as its worst bottleneck: for any set
 * of ports, the work that can go nowhere else must fit into them; and so many operations are started per cycle. (The
 * bottleneck model of PMEvo; for ideal schedulers it is exact.)
 */
#ifndef XR_METHOD_PORTS_H
#define XR_METHOD_PORTS_H

#include "util/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XR_PORT_OPS = 16, XR_PORTS = 64, XR_MIX_OPS = 6 };

struct xr_port_op {
	double cycles;   /* alone, per operation: known before fitting */
	double slots;    /* of the front end, per operation: known before fitting */
	uint64_t ports;  /* fitted: bit per port; 0: none that matters */
	int apart;       /* fitted: > 0: a unit of its own is what limits it alone; on its ports it takes so many cycles */
};

struct xr_ports {
	struct xr_port_op op[XR_PORT_OPS];
	int n_ops;
	double width;    /* slots per cycle */
};

struct xr_mix {
	int n;
	int op[XR_MIX_OPS];
	double count[XR_MIX_OPS];
	double cycles;   /* measured, for all of it */
};

/* Cycles of one port that one operation takes. */
double xr_port_busy(const struct xr_port_op *op);
int xr_port_count(uint64_t ports);

/* Cycles that the mix takes. */
double xr_ports_predict(const struct xr_ports *model, const struct xr_mix *mix);

/* Chooses ports (and apart) so that the mixes, all of two operations, come out as measured: the least sum of relative
 * errors, none counting more than 0.3; of equals the one with the least sharing: units are shared only on evidence. */
void xr_ports_fit(struct xr_ports *model, const struct xr_mix *mix, size_t n, struct xr_rng *rng);

/* Share of the mixes predicted within the relative tolerance. */
double xr_ports_hits(const struct xr_ports *model, const struct xr_mix *mix, size_t n, double tolerance);

#endif
