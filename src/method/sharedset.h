/* SPDX-License-Identifier: MIT */
/* How many pages fit into a set of a TLB that others use, too.
 *
 * Somebody else's page in a set takes a way of it, and not all pages are lost with one too many where it is not the oldest
 * that goes. So the share of pages that a set loses rises over the number of pages, from somewhere below the ways on; the
 * ways are before about a third is lost. But whatever others do only adds: with one page too many every lap loses a page,
 * so there are at least as many ways as the largest number of pages of which some set lost none.
 */
#ifndef XR_METHOD_SHAREDSET_H
#define XR_METHOD_SHAREDSET_H

#include "method/pagesets.h"

/* `all`: that many pages are pushed out for sure. Sets the ways, sure: how often other sets, and another opinion on what is
 * few, would have said the same, and *near: the same or one more or less. ways 0: nothing was found. 0, or -1 as
 * xr_run_time(). */
int xr_shared_ways(const struct xr_page_family *family, size_t all, struct xr_tlb_sets *sets, double *near);

#endif
