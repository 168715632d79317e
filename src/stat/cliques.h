/* SPDX-License-Identifier: MIT */
/* Cliques: groups of things that are nearer to each other than to all others. */
#ifndef XR_STAT_CLIQUES_H
#define XR_STAT_CLIQUES_H

#include <stddef.h>

/* distance: n x n, symmetric, the diagonal is not looked at. Splits once, at the coarsest gap that separates: the pairs
 * are sorted, and from the largest downwards each relative gap of at least `gap` (0.15: 15 %) between two of them is
 * tried; the things connected by the pairs below it are the grouping if they form near-cliques (9 of 10 of the pairs
 * within a group are below the gap) and there is more than one group. label[i] = group of i, numbered in order of first
 * member. *below, *above: the distances on both sides of the gap. Returns the number of groups; 1: all alike. */
int xr_cliques(const double *distance, int n, double gap, int *label, double *below, double *above);

#endif
