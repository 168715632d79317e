/* SPDX-License-Identifier: MIT */
/* Ways and capacity of a level whose index is not known: conflict sets (probe/conflict.h) for the ways, the law
 * of random lines (infer/scatter.h) for the capacity. Neither needs page classes, colours or contiguous memory,
 * and each checks the other. */
#ifndef XR_MICRO_CACHE_OUTER_SECOND_H
#define XR_MICRO_CACHE_OUTER_SECOND_H

#include "probe/conflict.h"
#include "probe/scatter.h"

enum { XR_SECOND_POINTS = 64, XR_SECOND_WAYS = 64, XR_SECOND_GROWTHS = 8 };

struct xr_second_level {
	struct xr_run *run;
	/* What is known: */
	unsigned buffer;     /* id; the next one is used, too */
	uint64_t page, line; /* line of the first level */
	size_t first_ways;
	uint64_t first_way;      /* bytes */
	double holds;            /* pages of which it holds one line each, about; 0: not known */
	double near, far;        /* latencies of this level and the next, about */
	uint64_t room;           /* bytes that a buffer may have */
	double tlb_pages;        /* that the first TLB holds; 0: no TLB */
	bool shared_core;        /* somebody else uses the core, and with it this level */
	double quiet_ns;         /* for each question */
	double expected;         /* capacity that another witness found; 0: no such witness */
	struct xr_effort effort; /* {0}: quick; for coarse clocks */
	/* What is found: */
	size_t ways; /* 0: not found */
	double p_ways;
	size_t sets_found, sets_tried;   /* conflict sets that say so; attempts */
	bool miss_open;                  /* conflict sets did not show the misses that the latencies promise */
	bool never;                      /* no line of one page offset ever made a difference */
	bool regular;                    /* conflict sets were found among lines of one page offset */
	size_t said[XR_SECOND_WAYS + 1]; /* conflict sets of so many members */
	struct xr_scatter_growth growth[XR_SECOND_GROWTHS];
	size_t n_growth;
	struct xr_scatter_answer law;
	struct xr_scatter_point *curve;
	size_t n_curve, n_alone;   /* points of pairs, and behind them of lines alone */
	struct xr_scatter scatter; /* that it was asked with */
	uint64_t outer_line;       /* bytes that come at a time; 0: not found */
	double p_line;
	const char *trouble; /* why there are no ways */
};

/* Its latency, by lines spread over all sets of both levels in pages that the first TLB holds: lines of one set
 * of the first level may take some cycles more (a way predictor). After ways and capacity. *cycles 0: there is no
 * number of lines that the first level does not answer and this one does. *spread: how far draws of lines are
 * apart, relative. 0, or -1 as xr_run_time(). */
int xr_second_latency(const struct xr_second_level *level, double *cycles, double *spread);

/* 0, or -1 as xr_run_time(). */
int xr_second_ways(struct xr_second_level *level);
int xr_second_estimate(struct xr_second_level *level); /* the law alone, from few walks */
int xr_second_capacity(struct xr_second_level *level);
void xr_second_weigh(struct xr_second_level *level); /* the same walks again, with another `expected` */
int xr_second_line(struct xr_second_level *level);   /* after the capacity, which it may correct */

#endif
