/* SPDX-License-Identifier: MIT */
/* The TLBs of data, level by level: what the micro-benchmark of that name asks, in this order, and knows in the end.
 *
 *   tlbcurve.c   the cost of translation over neighbouring pages: where are steps, and how high?
 *   tlbfirst.c   the first level by sets of pages; the page; what one entry covers
 *   tlbsecond.c  the second level, behind the first
 *
 * All functions: 0, or -1 as xr_run_time().
 */
#ifndef XR_METHOD_TLB_H
#define XR_METHOD_TLB_H

#include "method/pagesets.h"
#include "method/translate.h"

enum {
	XR_TLB_BUFFER = 30, /* id; packed lines in the next, pages in a row in the one after that */
	XR_TLB_PAGES_MAX = 16384,
};

struct xr_tlb_level {
	struct xr_tlb_sets sets;
	size_t entries;        /* 0: no such level */
	double penalty, error; /* cycles; error: one sigma */
	double near;           /* >0: the share of orders that find the ways, or one more or less */
	double middle;         /* of its step, pages, where no rule was found; 0: there is none */
	size_t other;          /* entries that a rule said that was not believed; 0: none did */
};

struct xr_tlb {
	struct xr_run *run;
	struct xr_pagesets pages;
	double hit; /* cycles of the first cache */
	struct xr_curve curve;
	double far; /* cost of translation of very many pages; 0: not asked yet */
	struct xr_tlb_level first, second;
	struct xr_curve_step third; /* middle 0: there is none */
};

/* ---- tlbcurve.c ---- */

/* The first step of the cost of translation: how high it is, 0: there is none; between which numbers of pages. */
struct xr_tlb_step {
	double height;
	size_t below, above;
};
int xr_tlb_find_step(struct xr_tlb *tlb, struct xr_tlb_step *step);

/* The second level by the middle of the second step alone, from a closer look at the curve. */
int xr_tlb_find_middle(struct xr_tlb *tlb);

/* A third level, where pages beyond the second begin to cost more. */
int xr_tlb_find_third(struct xr_tlb *tlb);

/* A witness that needs no sets: neighbouring pages. Of what twice as many cost as the second level is said to hold, three
 * quarters must cost little, and a third more than it holds must cost much. It is not heard where the caches have a say,
 * too; then it is said to agree. */
int xr_tlb_ask_neighbours(struct xr_tlb *tlb, bool *agree, bool *heard);

/* ---- tlbfirst.c ---- */

int xr_tlb_find_first(struct xr_tlb *tlb, const struct xr_tlb_step *step);

/* The page size that the first level sees. */
int xr_tlb_find_page(struct xr_tlb *tlb, uint64_t *page, double *sure);

/* How many pages one entry covers that are neighbours in memory as well. *share: of a miss, what decided costs; those that
 * cost less than xr_kept_apart of one share entries. */
extern const double xr_kept_apart;
int xr_tlb_find_together(struct xr_tlb *tlb, size_t *together, double *share);

/* ---- tlbsecond.c ---- */

/* By strides, by folded sets, or by the middle of the step: the first that neither contradicts itself nor is contradicted
 * by neighbouring pages; else the first, in doubt. */
int xr_tlb_find_second(struct xr_tlb *tlb);

#endif
