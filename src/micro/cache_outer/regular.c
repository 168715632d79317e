/* SPDX-License-Identifier: MIT */
/* A level with a plain index where times repeat exactly (a simulator): lines at equal distances show all of it. */
#include "micro/cache_outer/outer.h"

#include "method/rows.h"

/* Where times repeat exactly, a level with a plain index shows all of its geometry; *found: this is one, and
 * walks agree. */
int xr_outer_find_regular(struct xr_outer *o, size_t level, bool *found)
{
	static const char how[] = "lines at equal distances";
	const double sure = 0.97;
	struct xr_description *d = xr_run_description(o->run);
	struct xr_data_level l = {.walk = xr_outer_walk(o),
	                          .hit = o->hit,
	                          .near = o->h.level[level].latency,
	                          .far = o->h.level[level + 1].latency,
	                          .kept = o->h.level[level].items *
	                                  (double)(o->evict.page ? o->evict.page : o->evict.item),
	                          .room = xr_run_room(o->run) < XR_OUTER_MOST ? xr_run_room(o->run) : XR_OUTER_MOST};

	const double before = level > 1 ? xr_run_number(o->run, xr_outer_id(o, level - 1, "capacity"), 0)
	                                : xr_run_number(o->run, "cache.l1d.capacity", 0),
		     ways = level > 1 ? xr_run_number(o->run, xr_outer_id(o, level - 1, "ways"), 0)
	                              : xr_run_number(o->run, "cache.l1d.ways", 0);
	l.before = ways > 0 ? (uint64_t)(before / ways) : 0;
	if (xr_data_level_find(&l) != 0)
		return -1;
	*found = l.ways > 0;
	if (!*found)
		return 0;
	xr_fact_count(d, xr_outer_id(o, level, "capacity"), (long long)l.bytes, "bytes", sure, how);
	xr_fact_count(d, xr_outer_id(o, level, "ways"), l.ways, "", sure, how);
	if (l.line)
		xr_fact_count(d, xr_outer_id(o, level, "line"), (long long)l.line, "bytes", sure, how);
	else
		xr_fact_none(d, xr_outer_id(o, level, "line"), XR_UNRELIABLE, "lines conflict at every distance");
	return 0;
}
