/* SPDX-License-Identifier: MIT */
/* What a simulated machine's caches, TLBs and memory are, and what of that software can see. */
#include "truths.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_CODE = 8 << 20 }; /* bytes of code that are laid out at most */

/* The index of the cache that an id's word means, or -1: l1d, then l2 … along the data path; l1i, l2i are what
 * code goes through first and second, be it for data as well. */
static bool of_code(const char *name)
{
	return is(name, "l1i") || is(name, "l2i");
}

int xr_truth_cache_index(const struct xr_machine *m, const char *name)
{
	int level = name[0] == 'l' ? atoi(name + 1) : 0, seen = 0;
	bool code = of_code(name);
	if (level < 1 || (level == 1 && !code && !is(name, "l1d")))
		return -1;
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & (code ? XR_HOLDS_CODE : XR_HOLDS_DATA) && ++seen == level)
			return i;
	return -1;
}

static int before(const struct xr_machine *m, int index, int holds)
{
	for (int i = index - 1; i >= 0; i--)
		if (m->cache[i].holds & holds)
			return i;
	return -1;
}

static double latency_behind(const struct xr_machine *m, int index, int holds)
{
	for (int i = index + 1; i < m->n_caches; i++)
		if (m->cache[i].holds & holds)
			return m->cache[i].latency;
	return m->memory_latency;
}

/* Can a level be seen: quicker than the one behind, larger than the one before, smaller than memory? And so those
 * before it, else the numbers are off by one. */
static bool shows(const struct xr_machine *m, int index, int holds)
{
	const struct xr_machine_cache *c = &m->cache[index];
	int nearer = before(m, index, holds);
	if (latency_behind(m, index, holds) < 1.15 * c->latency + 0.5 || c->capacity * 4 > m->memory_bytes)
		return false;
	if (nearer < 0)
		return true;
	if (c->inclusion != XR_EXCLUSIVE && c->capacity < m->cache[nearer].capacity * 3 / 2)
		return false;
	return shows(m, nearer, holds);
}

static bool only_level(const struct xr_machine *m)
{
	int n = 0;
	for (int i = 0; i < m->n_caches; i++)
		n += (m->cache[i].holds & XR_HOLDS_DATA) != 0;
	return n == 1;
}

/* Has a cache lines twice as large as the first one? */
static bool is_pair(const struct xr_machine *m, int index)
{
	int first = index;
	for (int i = index; i >= 0; i = before(m, i, m->cache[index].holds))
		first = i;
	return m->cache[index].line_bytes == 2 * m->cache[first].line_bytes;
}

/* Of a level that replaces by LRU, what comes back before neighbours have evicted it: so many bytes, and
 * what neighbours bring while these are asked for again, are the capacity. Asked for as quickly as they can be
 * had, half of them from here and half from behind. */
static double beside_neighbours(const struct xr_machine *m, int index)
{
	const struct xr_machine_cache *c = &m->cache[index];
	double cycles = (c->latency + latency_behind(m, index, XR_HOLDS_DATA)) / 2 / m->parallelism;
	double ns_of_byte = cycles * 1e3 / m->mhz / (double)c->line_bytes;
	return (double)c->capacity / (1 + c->neighbours_gbs * ns_of_byte);
}

/* Can lines be laid out that share one set of a cache, and of the nearer ones too, yet get past these? */
static bool sets_can_be_chosen(const struct xr_machine *m, int index)
{
	const struct xr_machine_cache *c = &m->cache[index];
	const uint64_t ways = xr_machine_ways(c), way = c->capacity / ways;
	const int nearer = before(m, index, XR_HOLDS_DATA);
	const bool whole = c->index == XR_VIRTUAL || way <= m->page_bytes || !m->page_bytes ||
	                   m->placement == XR_PLACE_CONTIGUOUS ||
	                   (m->huge_bytes >= way && m->huge_bytes <= 4 * way * ways);
	if (!whole || ways > 64 || c->hash || c->index_bits.n || c->modulo || c->slices || c->rival ||
	    c->inclusion == XR_EXCLUSIVE || c->neighbours_gbs > 0 || c->way_bits.n)
		return false;
	if (nearer < 0)
		return true;
	const struct xr_machine_cache *first = &m->cache[nearer];
	const uint64_t first_ways = xr_machine_ways(first), first_way = first->capacity / first_ways;
	return before(m, nearer, XR_HOLDS_DATA) < 0 && 2 * way >= 3 * first_ways * first_way &&
	       first->policy == XR_LRU && first->index == XR_VIRTUAL;
}

/* Does the first cache keep what is used all the time, while so many others of its set come in between, and can lines of
 * one set of the second be found? */
static bool keeps_a_line(const struct xr_machine *m, const struct xr_machine_cache *first,
                         const struct xr_machine_cache *c, uint64_t lines)
{
	const uint64_t words = first->line_bytes / 8 > 1 ? first->line_bytes / 8 - 1 : 1;
	const uint64_t apart = (lines + words - 1) / words, first_ways = xr_machine_ways(first);
	const bool plain = first->index == XR_VIRTUAL || first->capacity / first_ways <= m->page_bytes;
	return first_ways >= 4 && 2 * apart <= first_ways && first->policy != XR_RANDOM && first->policy != XR_FIFO &&
	       !first->rival && !first->way_bits.n && !first->hash && !first->index_bits.n && plain &&
	       c->neighbours_gbs <= 0 && c->line_bytes == first->line_bytes && c->capacity >= 4 * first->capacity &&
	       c->policy != XR_RANDOM && !c->rival && !c->hash && first->line_bytes >= 16;
}

/* The data cache behind the first one; -1: none. */
static int second_of(const struct xr_machine *m, int *nearer)
{
	for (int i = 0; i < m->n_caches; i++) {
		*nearer = m->cache[i].holds & XR_HOLDS_DATA ? before(m, i, XR_HOLDS_DATA) : -1;
		if (*nearer >= 0 && before(m, *nearer, XR_HOLDS_DATA) < 0)
			return i;
	}
	return -1;
}

/* Is a line that the first cache keeps taken away? inclusion: has the first cache what the second does not? */
static struct xr_truth inclusive_fact(const struct xr_machine *m, int index, bool inclusion)
{
	const struct xr_machine_cache *c = &m->cache[index];
	const int nearer = before(m, index, XR_HOLDS_DATA);
	if (nearer < 0 || before(m, nearer, XR_HOLDS_DATA) >= 0)
		return nearer < 0 ? absent("nothing is nearer to the core") : unsaid;
	const uint64_t ways = xr_machine_ways(c);
	return hidden_if(
		ways < 2 || ways > 32 || c->inclusion == XR_EXCLUSIVE || !keeps_a_line(m, &m->cache[nearer], c, ways),
		"the first cache loses lines on its own, or sets cannot be found",
		inclusion ? text(xr_inclusion_names[c->inclusion]) : exact(json_boolean(c->inclusion == XR_INCLUSIVE)));
}

/* Do stores stay in the first cache? Seen where the second would be younger for them: where it evicts who was not used. */
static struct xr_truth write_back_fact(const struct xr_machine *m, int index)
{
	int nearer, second = second_of(m, &nearer);
	const struct xr_machine_cache *c = second < 0 ? NULL : &m->cache[second];
	const uint64_t ways = c ? xr_machine_ways(c) : 0;
	const bool back = m->cache[index].write_back;
	if (!c || nearer != index)
		return hidden_if(true, "nothing behind it tells", exact(json_boolean(back)));
	const bool inclusive = c->inclusion == XR_INCLUSIVE;
	return hidden_if(ways < 2 || ways > 32 || c->inclusion == XR_EXCLUSIVE || !c->write_allocate ||
	                         !keeps_a_line(m, &m->cache[index], c, inclusive ? ways + 2 : ways) ||
	                         (inclusive && c->policy == XR_FIFO),
	                 "the second cache does not show who was written to", exact(json_boolean(back)));
}

static struct xr_truth cache_fact(const struct xr_machine *m, int index, const char *what)
{
	const struct xr_machine_cache *c = &m->cache[index];
	uint64_t ways = xr_machine_ways(c), sets = xr_machine_sets(c), way = c->capacity / ways;
	bool first = before(m, index, c->holds)<0, neighbours = c->neighbours_gbs> 0;
	/* Whatever hash picks the sets, lines of one set push each other out and can be found; but how many sets there
	 * are shows only as a slope. */
	bool scattered = c->hash || (c->slices > 1 && !c->slice_bits.n);
	bool blurred = !first && (c->inclusion == XR_EXCLUSIVE || neighbours);
	const char *why =
		"sets fill together with those of the nearer level, or others have a part of it: there is no edge";
	if (is(what, "capacity") && neighbours)
		return c->policy != XR_LRU ? unsaid
		                           : hidden_if(true, "others have a part of it, now more, now less",
		                                       number(beside_neighbours(m, index), 0.25, 0));
	if (is(what,
	       "capacity")) /* without an edge the middle of the rise tells, where the nearer level hides little of it */
		return hidden_if(c->inclusion == XR_EXCLUSIVE && !first &&
		                         c->capacity < 4 * m->cache[before(m, index, c->holds)].capacity,
		                 why, number((double)c->capacity, blurred || (scattered && !first) ? 0.25 : 0, 0));
	if (is(what, "ways"))
		return hidden_if(blurred || (sets == 1 && c->capacity > 4096) || ways > 64, why, count(ways));
	if (is(what, "line")) /* lines in pairs act like one, whether a prefetcher joins them or they are one */
		return (only_level(m) && m->prefetch_adjacent) || is_pair(m, index)
		               ? unsaid
		               : hidden_if(blurred, why, count(c->line_bytes));
	if (is(what, "latency"))
		return in_cycles(m, c->latency);
	if (is(what, "policy")) {
		char policy[XR_POLICY_TEXT];
		xr_policy_text(c->policy, policy);
		return c->rival ? unsaid
		                : hidden_if(scattered || !sets_can_be_chosen(m, index),
		                            "its sets cannot be looked at one by one", text(policy));
	}
	if (c->holds == XR_HOLDS_CODE && (is(what, "write_allocate") || is(what, "write_back")))
		return unsaid; /* code is not written */
	if (is(what, "write_allocate"))
		return exact(json_boolean(c->write_allocate));
	if (is(what, "write_back"))
		return write_back_fact(m, index);
	if (is(what, "unified"))
		return exact(json_boolean(c->holds == XR_HOLDS_BOTH));
	if (is(what, "index"))
		return hidden_if(
			way <= m->page_bytes || !m->page_bytes || scattered || c->slices > 1 || c->index_bits.n,
			"a way is not larger than a page", text(c->index == XR_VIRTUAL ? "virtual" : "physical"));
	if (is(what, "inclusive"))
		return inclusive_fact(m, index, false);
	if (is(what, "inclusion"))
		return inclusive_fact(m, index, true);
	if (is(what, "shared_by"))
		return count((uint64_t)c->shared_by);
	return unsaid;
}

static uint64_t room_behind(const struct xr_machine *m, int index)
{
	for (int i = index + 1; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_CODE)
			return m->cache[i].capacity;
	return UINT64_MAX;
}

/* What code finds in its second cache is not exactly its capacity: pages lie at random places, so that some sets
 * fill early, the more the fewer ways there are. And lines that an exclusive one has are not in the first one,
 * which has some more. */
static struct xr_truth far_code_fact(const struct xr_machine *m, int index, const char *what)
{
	const struct xr_machine_cache *c = &m->cache[index];
	const uint64_t ways = xr_machine_ways(c);
	const bool scattered = c->index == XR_PHYSICAL && c->capacity / ways > m->page_bytes && m->page_bytes;
	if (is(what, "capacity"))
		return hidden_if(c->inclusion == XR_EXCLUSIVE,
		                 "lines are in the nearer level instead: there is no edge",
		                 number((double)c->capacity,
		                        !scattered ? 0.25
		                        : ways < 4 ? 0.6
		                        : ways < 8 ? 0.4
		                                   : 0.25,
		                        0));
	if (is(what, "miss_penalty"))
		return hidden_if(xr_core_reference(m) != 1, "cycles cannot be counted",
		                 number(latency_behind(m, index, XR_HOLDS_CODE) - c->latency, 0.15, 1));
	return is(what, "unified") ? cache_fact(m, index, what) : unsaid;
}

/* Can jumps fill it, and see that it is full? Not where most of what it holds is in the first one, too. */
static bool code_reaches(const struct xr_machine *m, int index)
{
	const uint64_t capacity = m->cache[index].capacity;
	const int nearer = before(m, index, XR_HOLDS_CODE);
	const bool large = nearer < 0 || 2 * capacity >= 5 * m->cache[nearer].capacity;
	return large && shows(m, index, XR_HOLDS_CODE) && capacity <= MOST_CODE / 4 &&
	       capacity <= m->memory_bytes / 16 && room_behind(m, index) >= 6 * capacity;
}

struct xr_truth xr_truth_of_cache(const struct xr_machine *m, const struct words *w)
{
	if (is(w->word[1], "levels")) {
		uint64_t levels = 0;
		bool all = true;
		for (int i = 0; i < m->n_caches; i++)
			if (m->cache[i].holds & XR_HOLDS_DATA) {
				levels++;
				all &= shows(m, i, XR_HOLDS_DATA);
			}
		return hidden_if(!all, "one level cannot be told from the next", count(levels));
	}
	int index = xr_truth_cache_index(m, w->word[1]);
	if (index >= 0 && (is(w->word[2], "bandwidth") || is(w->word[2], "throughput")))
		return shows(m, index, XR_HOLDS_DATA) ? xr_truth_of_flow(m, w->word[1], w->word[2], w->word[3])
		                                      : unsaid;
	if (index >= 0 && is(w->word[2], "parallelism"))
		return shows(m, index, XR_HOLDS_DATA) ? xr_truth_of_parallelism(m, w->word[1]) : unsaid;
	if (index < 0)
		return w->n == 3 ? absent("no such cache") : unsaid;
	const char *unseen =
		"hits and misses cost the same, more code would be needed than is laid out, or the next level "
		"overflows before all of it misses this one, or the first has most of what it has";
	if (is(w->word[1], "l1i") && w->n == 3 && is(w->word[2], "latency") && m->prefetch_code)
		return hidden_if(true, "code is fetched ahead", unsaid);
	if (is(w->word[1], "l2i"))
		return hidden_if(!code_reaches(m, index), unseen,
		                 w->n == 3 ? far_code_fact(m, index, w->word[2]) : unsaid);
	if (w->n == 3 && is(w->word[2], "unified") && xr_truth_cache_index(m, "l2i") == index &&
	    !code_reaches(m, index))
		return hidden_if(true, unseen, unsaid);
	return hidden_if(!shows(m, index, is(w->word[1], "l1i") ? XR_HOLDS_CODE : XR_HOLDS_DATA),
	                 "hits and misses cost the same, or a nearer level holds as much",
	                 w->n == 3 ? cache_fact(m, index, w->word[2]) : unsaid);
}

/* Where the next TLB has no more entries, who misses this one misses the next one as well, more or less often: that
 * depends on the sets of both. What it takes is then neither of the two penalties. */
static bool is_last(const struct xr_machine *m, int index, int holds)
{
	for (int i = index + 1; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & holds && m->tlb[i].pages != XR_PAGES_HUGE)
			return false;
	return true;
}

static bool next_is_no_larger(const struct xr_machine *m, int index, int holds)
{
	for (int i = index + 1; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & holds && m->tlb[i].pages != XR_PAGES_HUGE)
			return m->tlb[i].entries <= m->tlb[index].entries;
	return false;
}

/* Of a TLB, the ways that pages of the usual size get, on the side of code or data. */
static uint64_t ways_for(const struct xr_machine_tlb *t, int holds)
{
	uint64_t ways = xr_machine_tlb_ways(t) - t->huge_ways;
	return holds == XR_HOLDS_CODE && t->code_ways && t->code_ways < ways ? t->code_ways : ways;
}

/* Pages of an entry, where those in a row are neighbours in memory, too; see xr_mem_in_a_row(). */
static uint64_t pages_of_entry(const struct xr_machine *m, const struct xr_machine_tlb *t)
{
	const uint64_t pages = t->coalesce > 1 ? (uint64_t)t->coalesce : 1;
	const bool in_a_row =
		m->placement == XR_PLACE_CONTIGUOUS || (m->placement == XR_PLACE_RUNS && m->run_pages >= pages);

	return in_a_row && !(m->host_bytes && m->host_bytes < pages * m->page_bytes) ? pages : 1;
}

struct xr_truth xr_truth_of_tlb(const struct xr_machine *m, const struct words *w)
{
	int level = atoi(w->word[1] + 1), seen = 0, holds = w->word[1][0] == 'i' ? XR_HOLDS_CODE : XR_HOLDS_DATA;
	const struct xr_machine_tlb *nearer = NULL;
	if (is(w->word[1], "walks"))
		return xr_truth_of_walks(m);
	if (level < 1 || w->n != 3)
		return unsaid;
	for (int i = 0; i < m->n_tlbs && m->page_bytes; i++) {
		const struct xr_machine_tlb *t = &m->tlb[i];
		struct xr_truth truth = unsaid;
		if (!(t->holds & holds) || t->pages == XR_PAGES_HUGE)
			continue;
		const uint64_t ways = ways_for(t, holds), entries = t->entries / xr_machine_tlb_ways(t) * ways;
		if (++seen < level) {
			nearer = t;
			continue;
		}
		if (is(w->word[2], "entries")) /* neighbours in memory may share one; pages asked for shuffled do not */
			truth = count(entries);
		else if (is(w->word[2], "ways"))
			truth = hidden_if(nearer, "seen only through the level before it", count(ways));
		else if (is(w->word[2], "penalty")) /* what a walk costs depends on where its tables are */
			truth = next_is_no_larger(m, i, holds) || (m->walk_levels && is_last(m, i, holds))
			                ? unsaid
			                : in_cycles(m, t->penalty);
		else if (is(w->word[2], "page"))
			truth = count(m->page_bytes * pages_of_entry(m, t));
		else if (is(w->word[2], "policy")) {
			char policy[XR_POLICY_TEXT];
			xr_policy_text(t->policy, policy);
			truth = hidden_if(t->fold || t->index_bits.n || t->coalesce > 1 || xr_machine_tlb_ways(t) > 96,
			                  "its sets cannot be looked at one by one", text(policy));
		}
		bool free =
			t->penalty < (nearer ? nearer->penalty : 0) + 2 && !(m->walk_levels && is_last(m, i, holds));
		return hidden_if(free || (nearer && entries < 2 * nearer->entries) ||
		                         entries * 4 * m->page_bytes > m->memory_bytes,
		                 "missing it costs no more, or memory is too small to miss it", truth);
	}
	return absent("no such TLB");
}

struct xr_truth xr_truth_of_memory(const struct xr_machine *m, const struct words *w)
{
	uint64_t largest = 0;
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA && m->cache[i].capacity > largest)
			largest = m->cache[i].capacity;
	bool small = largest * 4 > m->memory_bytes;
	const char *what = w->word[1], *why = "memory is hardly larger than the caches";
	double latency_ns = m->memory_latency / (m->mhz * 1e-3);
	if (is(what, "latency"))
		return hidden_if(small, why, in_cycles(m, m->memory_latency));
	if (is(what, "latency_ns"))
		return m->drift + m->step + m->ramp >= 0.015 ? unsaid
		                                             : hidden_if(small, why, number(latency_ns, 0.05, 1));
	if (is(what, "parallelism"))
		return hidden_if(small, why, xr_truth_of_parallelism(m, "memory"));
	if (is(what, "page_size"))
		return m->page_bytes ? hidden_if(m->n_tlbs == 0, "nothing shows where pages end", count(m->page_bytes))
		                     : absent("no pages");
	if (is(what, "page_resizing"))
		return hidden_if(m->n_tlbs == 0, "nothing shows where pages end",
		                 exact(json_boolean(m->resizing && m->huge_bytes)));
	if ((is(what, "bandwidth") && is(w->word[3], "one")) || is(what, "throughput"))
		return hidden_if(small, why, xr_truth_of_flow(m, "memory", what, w->word[2]));
	if (is(what, "bandwidth") && is(w->word[2], "read") && is(w->word[3], "all")) {
		struct xr_truth truth = xr_truth_of_flow(m, "memory", what, "read");
		double all = json_number_value(truth.value) * m->cores;
		if (truth.kind != XR_TRUTH_VALUE || m->second[0])
			return truth;
		json_real_set(truth.value, fmin(m->bandwidth_gbs * 1e9, all));
		return hidden_if(small, why, truth);
	}
	return unsaid;
}
