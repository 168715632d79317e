/* SPDX-License-Identifier: MIT */
/* How many bytes a simulated machine moves: bandwidths by the file, and which of them can be seen. */
#include "truths.h"

#include "target/model/flow.h"

#include <math.h>

static int kind_of(const char *name)
{
	static const char *const names[] = {"read", "write", "copy", "past"};
	for (int i = 0; i < 4; i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return i;
	return -1;
}

/* Data caches from the core on; the number of the one that is meant, or of memory; -1: none such. */
static int level_of(const struct xr_machine *m, const char *name, int path[XR_MACHINE_CACHES], int *n)
{
	int level = is(name, "memory") ? -2 : is(name, "l1d") ? 0 : name[0] == 'l' ? atoi(name + 1) - 1 : -1;
	*n = 0;
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < m->n_caches; i++)
			if (m->cache[i].holds == (kind ? XR_HOLDS_BOTH : XR_HOLDS_DATA))
				path[(*n)++] = i;
	return level == -2 ? *n : level < *n ? level : -1;
}

/* Stores that do not bring their line, or go through, have a pace of their own. */
static bool plain_stores(const struct xr_machine *m, const int *path, int n)
{
	for (int i = 0; i < n; i++)
		if (!m->cache[path[i]].write_allocate || !m->cache[path[i]].write_back)
			return false;
	return true;
}

/* Can bytes be laid out that this level alone gives? */
static bool answers_alone(const struct xr_machine *m, const int *path, int level, int n)
{
	uint64_t sizes = 0;
	for (int i = 0; i <= level && i < n; i++) {
		const struct xr_machine_cache *c = &m->cache[path[i]];
		uint64_t way = c->capacity / xr_machine_ways(c);
		if (i && c->capacity < 4 * sizes)
			return false;
		if (c->neighbours_gbs > 0 || (c->hash && i) || xr_machine_ways(c) < 4 || c->inclusion == XR_EXCLUSIVE ||
		    (c->index == XR_PHYSICAL && way > m->page_bytes && xr_machine_ways(c) < 8))
			return false; /* some of its sets are too full long before it is */
		sizes = c->capacity;
	}
	for (int i = 0; i < level; i++) /* a line twice as long brings its other half along */
		if (m->cache[path[i]].line_bytes != m->cache[path[0]].line_bytes)
			return false;
	return level < n || 8 * sizes <= m->memory_bytes / 2;
}

struct xr_truth xr_truth_of_flow(const struct xr_machine *m, const char *where, const char *what, const char *which)
{
	int path[XR_MACHINE_CACHES], n, level = level_of(m, where, path, &n), kind = kind_of(which);
	struct xr_flow_spec flow = {.kind = (enum xr_flow_kind)kind, .width = strstr(which, "_scalar") ? 8 : 0};
	double share[XR_MACHINE_CACHES + 1] = {0}, line = n ? (double)m->cache[path[0]].line_bytes : 64;
	if (level < 0 || kind < 0 || !answers_alone(m, path, level, n))
		return unsaid;
	if ((kind == XR_FLOW_WRITE || kind == XR_FLOW_COPY) && !plain_stores(m, path, n))
		return unsaid;
	share[level] = 1;
	double per_cycle = line / xr_flow_line_cycles(m, &flow, share);
	/* who does not replace by LRU keeps some of what goes round */
	double error = 0.1 + (level ? 0.1 : 0);
	if (is(what, "throughput"))
		return hidden_if(xr_core_reference(m) != 1, "cycles cannot be counted", number(per_cycle, error, 0));
	return number(per_cycle * m->mhz * 1e6, error + clock_error(m) + m->ramp, 0);
}

/* Bytes per cycle that flows over a level are seen to move: what is written comes and goes. */
static double seen_moving(const struct xr_machine *m, int level, double line)
{
	static const double times[] = {1, 2, 1.5};
	double share[XR_MACHINE_CACHES + 1] = {0}, most = 0;
	share[level] = 1;
	for (int kind = 0; kind < 3; kind++) {
		struct xr_flow_spec flow = {.kind = (enum xr_flow_kind)kind};
		most = fmax(most, times[kind] * line / xr_flow_line_cycles(m, &flow, share));
	}
	return most;
}

/* Misses in flight, unless bytes end first, or as far as anybody can see: so many lines over the latency, against
 * what flows have been seen to move. */
struct xr_truth xr_truth_of_parallelism(const struct xr_machine *m, const char *where)
{
	int path[XR_MACHINE_CACHES], n, level = level_of(m, where, path, &n);
	if (level < 1 || !n || !answers_alone(m, path, level, n) || !plain_stores(m, path, n))
		return unsaid;
	double in_flight = xr_flow_in_flight(m, level), line = (double)m->cache[path[0]].line_bytes;
	double latency = level < n ? m->cache[path[level]].latency : m->memory_latency;
	double wants = in_flight * line / latency;
	/* walks whose pages no TLB knows are another thing to wait for */
	bool translated = m->n_tlbs > 0 && m->page_bytes && !m->huge_bytes;
	return hidden_if(wants > 0.85 * seen_moving(m, level, line) || in_flight > 32 || translated,
	                 "bytes, or translations, end before misses in flight do", count((uint64_t)in_flight));
}

/* Walks at once of the last TLB of data, where these and not misses are what ends first. */
struct xr_truth xr_truth_of_walks(const struct xr_machine *m)
{
	const struct xr_machine_tlb *last = NULL;
	int path[XR_MACHINE_CACHES], n;
	(void)level_of(m, "memory", path, &n);
	for (int i = 0; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & XR_HOLDS_DATA)
			last = &m->tlb[i];
	if (!last || !m->page_bytes)
		return absent("no pages, or no TLB");
	if (!last->walks || n < 2 || m->walk_levels)
		return unsaid;
	double latency = m->cache[path[1]].latency, misses = (latency + last->penalty) / xr_flow_in_flight(m, 1);
	bool fits = 4 * last->entries * m->cache[path[0]].line_bytes <= m->cache[path[1]].capacity;
	return hidden_if(last->penalty / last->walks < 1.2 * misses || last->policy != XR_LRU || !fits ||
	                         last->penalty < 10 || xr_machine_tlb_ways(last) < 4,
	                 "misses in flight end first, or walks are too short", count((uint64_t)last->walks));
}
