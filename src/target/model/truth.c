#include "target/model/truth.h"

#include "target/model/core.h"
#include "target/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making truths ---- */

static const struct xr_truth unsaid = {.kind = XR_TRUTH_UNSAID};

static struct xr_truth absent(const char *why)
{
	return (struct xr_truth){.kind = XR_TRUTH_ABSENT, .why = why};
}

enum { MOST_CODE = 8 << 20 }; /* bytes of code that are laid out at most */

static struct xr_truth exact(json_t *value)
{
	return (struct xr_truth){.kind = XR_TRUTH_VALUE, .value = value};
}

static struct xr_truth number(double value, double relative, double absolute)
{
	return (struct xr_truth){
		.kind = XR_TRUTH_VALUE, .value = json_real(value), .relative = relative, .absolute = absolute};
}

static struct xr_truth count(uint64_t value)
{
	return exact(json_integer((json_int_t)value));
}

static struct xr_truth text(const char *value)
{
	return exact(json_string(value));
}

static struct xr_truth hidden_if(bool condition, const char *why, struct xr_truth truth)
{
	if (condition && truth.kind == XR_TRUTH_VALUE) {
		truth.kind = XR_TRUTH_HIDDEN;
		truth.why = why;
	}
	return truth;
}

/* How far a clock may be off that wanders and steps while one looks. */
static double clock_error(const struct xr_machine *m)
{
	return 0.02 + m->drift + m->step + m->jitter;
}

/* Cycles are counted in additions: where an addition takes something else than a cycle, all is off by that. */
static struct xr_truth in_cycles(const struct xr_machine *m, double value)
{
	return hidden_if(xr_core_reference(m) != 1, "an addition does not take one cycle, so cycles cannot be counted",
	                 number(value, 0.02, 0.1));
}

/* ---- words of an id ---- */

struct words {
	char copy[128];
	const char *word[8];
	int n;
};

static void split(const char *id, struct words *w)
{
	char *rest = NULL;
	*w = (struct words){0};
	snprintf(w->copy, sizeof w->copy, "%s", id);
	for (char *p = strtok_r(w->copy, ".", &rest); p && w->n < 8; p = strtok_r(NULL, ".", &rest))
		w->word[w->n++] = p;
	for (int i = w->n; i < 8; i++)
		w->word[i] = "";
}

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* ---- core ---- */

static struct xr_truth op_truth(const struct xr_machine *m, const struct words *w)
{
	int op = xr_op_by_name(w->word[1]), type = xr_type_by_name(w->word[2]);
	if (op < 0 || type < 0 || op >= XR_N_NAMED_OPS || w->n != 4)
		return unsaid;
	const struct xr_machine_op *o = xr_machine_op(m, (enum xr_op)op, (enum xr_type)type);
	double software = xr_types[type].vector ? 0 : m->emulated[type];
	double latency = software, throughput = software;
	if (!xr_op_has_type((enum xr_op)op, (enum xr_type)type) || (!o && !(software > 0)))
		return absent("the machine has no such operation");
	if (xr_machine_pieces(m, (enum xr_type)type) > 1)
		return unsaid; /* made of narrower ones: whether that is an operation of the machine is a matter of words */
	if (software > 0 &&
	    (xr_op_extra((enum xr_op)op, (enum xr_type)type) >= 0 || op == XR_FMA || op == XR_MIN || op == XR_CVT))
		return unsaid; /* what software makes of these is the compiler's business */
	if (o) {
		double pieces = xr_machine_pieces(m, (enum xr_type)type), units = m->unit[o->unit].count;
		throughput = fmax(pieces * o->busy / units, pieces / m->width);
		latency = fmax(o->latency, throughput);
	}
	int extra = xr_op_extra((enum xr_op)op, (enum xr_type)type);
	if (o && extra >= 0 && !xr_machine_op(m, (enum xr_op)extra, (enum xr_type)type))
		return absent("the chain needs another operation that the machine does not have");
	if (is(w->word[3], "latency") || is(w->word[3], "latency_max"))
		return in_cycles(m, latency);
	if (is(w->word[3], "throughput") || is(w->word[3], "throughput_max"))
		return in_cycles(m, throughput);
	double flight = latency / throughput;
	if (is(w->word[3], "in_flight") && fabs(flight - floor(flight) - 0.5) > 0.15) /* half a one rounds either way */
		return number(fmax(1, round(flight)), 0, 0.5);
	return unsaid;
}

static struct xr_truth isa_truth(const struct xr_machine *m, const struct words *w)
{
	int type = xr_type_by_name(w->word[2]);
	if (is(w->word[1], "simd") && is(w->word[2], "width")) {
		for (int op = 0; op < XR_N_OPS; op++)
			for (int t = XR_V16F32; t < XR_N_TYPES; t++)
				if (m->type_op[op][t].there)
					return unsaid; /* vectors with costs of their own: what is "no more" depends on the operation */
		if (!m->registers_vector || m->vector_bytes < 16)
			return absent("no vectors");
		return count((uint64_t)(m->vector_bytes < 64 ? m->vector_bytes : 64));
	}
	if (type < 0)
		return unsaid;
	const struct xr_machine_op *add = xr_machine_op(m, XR_ADD, (enum xr_type)type);
	const struct xr_machine_op *mul = xr_machine_op(m, XR_MUL, (enum xr_type)type);
	if (is(w->word[1], "fpu") && xr_types[type].fp && !xr_types[type].vector)
		return hidden_if(add && add->latency >= 10, "so slow that software could be as quick",
		                 exact(json_boolean(add)));
	if (is(w->word[1], "fma") && xr_types[type].fp) {
		const struct xr_machine_op *fma = xr_machine_op(m, XR_FMA, (enum xr_type)type);
		if (!add || !mul)
			return fma ? unsaid : absent("no multiplication and addition to compare with");
		return hidden_if(fma && fma->latency >= 0.9 * (add->latency + mul->latency),
		                 "as slow as a multiplication and an addition", exact(json_boolean(fma)));
	}
	if (is(w->word[1], "simd") && xr_types[type].vector)
		return hidden_if(!add, "no addition to try it with",
		                 exact(json_boolean(xr_machine_pieces(m, (enum xr_type)type) == 1)));
	return unsaid;
}

static struct xr_truth registers_truth(const struct xr_machine *m, const struct words *w)
{
	const char *name = w->word[1];
	int type = xr_type_by_name(name), n;
	if (is(name, "int")) {
		n = m->registers_int;
		type = XR_I32;
	} else if (is(name, "f32") || is(name, "f64")) {
		n = m->registers_fp;
		if (m->emulated[type] > 0)
			return unsaid; /* software keeps them in integer registers, how many is its business */
	} else if (is(name, "v16") || is(name, "v32") || is(name, "v64")) {
		n = m->registers_vector;
		type = is(name, "v16") ? XR_V16F32 : is(name, "v32") ? XR_V32F32 : XR_V64F32;
		if (n && xr_machine_pieces(m, (enum xr_type)type) > 1)
			return unsaid;
		if (n && !xr_machine_op(m, XR_ADD, (enum xr_type)type))
			return unsaid;
	} else {
		return unsaid;
	}
	if (!n)
		return absent("no such registers");
	return hidden_if(!xr_machine_op(m, XR_ADD, (enum xr_type)type) || n > 60,
	                 "no addition to fill them with, or too many", count((uint64_t)n));
}

static struct xr_truth units_truth(const struct xr_machine *m, const struct words *w)
{
	int op = xr_op_by_name(w->word[1]), type = xr_type_by_name(w->word[2]);
	if (op < 0 || type < 0)
		return unsaid;
	struct xr_machine_op o;
	if (!xr_core_op(m, (enum xr_op)op, (enum xr_type)type, &o))
		return absent("the machine has no such operation");
	if (o.unit < 0 || xr_machine_pieces(m, (enum xr_type)type) != 1)
		return unsaid;
	int n = m->unit[o.unit].count;
	return hidden_if(o.busy != 1, "one slow unit looks like a part of a quick one",
	                 count((uint64_t)(n < m->width ? n : m->width)));
}

/* ---- caches and TLBs ---- */

/* The index of the cache that an id's word means, or -1: l1d, then l2 … along the data path; l1i, l2i are what code goes
 * through first and second, be it for data as well. */
static bool of_code(const char *name)
{
	return is(name, "l1i") || is(name, "l2i");
}

static int cache_index(const struct xr_machine *m, const char *name)
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

static struct xr_truth cache_fact(const struct xr_machine *m, int index, const char *what)
{
	const struct xr_machine_cache *c = &m->cache[index];
	uint64_t ways = xr_machine_ways(c), sets = xr_machine_sets(c), way = c->capacity / ways;
	bool first = before(m, index, c->holds) < 0, blurred = !first && (c->hash || c->inclusion == XR_EXCLUSIVE);
	const char *why = "sets fill unevenly, or together with those of the nearer level: there is no edge";
	if (is(what, "capacity"))
		return hidden_if(blurred, why, number((double)c->capacity, blurred ? 0.25 : 0, 0));
	if (is(what, "ways"))
		return hidden_if(blurred || (sets == 1 && c->capacity > 4096) || ways > 64, why, count(ways));
	if (is(what, "line")) /* lines in pairs act like one, whether a prefetcher joins them or they are one */
		return (only_level(m) && m->prefetch_adjacent) || is_pair(m, index)
		               ? unsaid
		               : hidden_if(blurred, why, count(c->line_bytes));
	if (is(what, "latency"))
		return in_cycles(m, c->latency);
	if (is(what, "policy"))
		return hidden_if((c->hash && sets > 1) || ways > 64, "its sets cannot be looked at one by one",
		                 text(xr_policy_names[c->policy]));
	if (is(what, "write_allocate"))
		return exact(json_boolean(c->write_allocate));
	if (is(what, "write_back"))
		return exact(json_boolean(c->write_back));
	if (is(what, "unified"))
		return exact(json_boolean(c->holds == XR_HOLDS_BOTH));
	if (is(what, "index"))
		return hidden_if(way <= m->page_bytes || !m->page_bytes || (c->hash && sets > 1),
		                 "a way is not larger than a page",
		                 text(c->index == XR_VIRTUAL ? "virtual" : "physical"));
	if (is(what, "inclusion"))
		return first ? absent("nothing is nearer to the core") : text(xr_inclusion_names[c->inclusion]);
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

/* What code finds in its second cache is not exactly its capacity: pages lie at random places, so that some sets fill
 * early, the more the fewer ways there are. And lines that an exclusive one has are not in the first one, which has some
 * more. */
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

static struct xr_truth cache_truth(const struct xr_machine *m, const struct words *w)
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
	int index = cache_index(m, w->word[1]);
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
	if (w->n == 3 && is(w->word[2], "unified") && cache_index(m, "l2i") == index && !code_reaches(m, index))
		return hidden_if(true, unseen, unsaid);
	return hidden_if(!shows(m, index, is(w->word[1], "l1i") ? XR_HOLDS_CODE : XR_HOLDS_DATA),
	                 "hits and misses cost the same, or a nearer level holds as much",
	                 w->n == 3 ? cache_fact(m, index, w->word[2]) : unsaid);
}

static struct xr_truth tlb_truth(const struct xr_machine *m, const struct words *w)
{
	int level = atoi(w->word[1] + 1), seen = 0, holds = w->word[1][0] == 'i' ? XR_HOLDS_CODE : XR_HOLDS_DATA;
	const struct xr_machine_tlb *nearer = NULL;
	if (level < 1 || w->n != 3)
		return unsaid;
	for (int i = 0; i < m->n_tlbs && m->page_bytes; i++) {
		const struct xr_machine_tlb *t = &m->tlb[i];
		struct xr_truth truth = unsaid;
		if (!(t->holds & holds))
			continue;
		if (++seen < level) {
			nearer = t;
			continue;
		}
		if (is(w->word[2], "entries"))
			truth = count(t->entries);
		else if (is(w->word[2], "ways"))
			truth = hidden_if(nearer, "seen only through the level before it",
			                  count(xr_machine_tlb_ways(t)));
		else if (is(w->word[2], "penalty"))
			truth = in_cycles(m, t->penalty);
		else if (is(w->word[2], "page"))
			truth = count(m->page_bytes);
		return hidden_if(t->penalty < (nearer ? nearer->penalty : 0) + 2 ||
		                         (nearer && t->entries < 2 * nearer->entries) ||
		                         t->entries * 4 * m->page_bytes > m->memory_bytes,
		                 "missing it costs no more, or memory is too small to miss it", truth);
	}
	return absent("no such TLB");
}

static struct xr_truth memory_truth(const struct xr_machine *m, const struct words *w)
{
	uint64_t largest = 0, line = 64;
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA) {
			largest = m->cache[i].capacity > largest ? m->cache[i].capacity : largest;
			line = m->cache[i].line_bytes;
		}
	bool small = largest * 4 > m->memory_bytes;
	const char *what = w->word[1], *why = "memory is hardly larger than the caches";
	double latency_ns = m->memory_latency / (m->mhz * 1e-3), one = (double)line * m->parallelism / latency_ns;
	if (is(what, "latency"))
		return hidden_if(small, why, in_cycles(m, m->memory_latency));
	if (is(what, "latency_ns"))
		return m->drift + m->step + m->ramp >= 0.015 ? unsaid
		                                             : hidden_if(small, why, number(latency_ns, 0.05, 1));
	if (is(what, "parallelism"))
		return hidden_if(small || one > m->bandwidth_gbs * 0.9 || m->parallelism > 32,
		                 "bandwidth ends before parallelism does", count((uint64_t)m->parallelism));
	if (is(what, "page_size"))
		return m->page_bytes ? hidden_if(m->n_tlbs == 0, "nothing shows where pages end", count(m->page_bytes))
		                     : absent("no pages");
	if (is(what, "page_resizing"))
		return hidden_if(m->n_tlbs == 0, "nothing shows where pages end",
		                 exact(json_boolean(m->resizing && m->huge_bytes)));
	if (is(what, "bandwidth") && is(w->word[2], "read")) {
		double one_gbs = fmin(one, m->bandwidth_gbs), all = fmin(m->bandwidth_gbs, one_gbs * m->cores);
		return hidden_if(small, why,
		                 number((is(w->word[3], "all") ? all : one_gbs) * 1e9, 0.1 + clock_error(m), 0));
	}
	return unsaid;
}

/* ---- the rest ---- */

static struct xr_truth siblings(const struct xr_machine *m)
{
	json_t *groups = json_array();
	for (int c = 0; c < m->cores; c++) {
		json_t *group = json_array();
		for (int t = 0; t < m->smt; t++)
			json_array_append_new(group, json_integer(c + t * m->cores));
		json_array_append_new(groups, group);
	}
	return exact(groups);
}

/* Do siblings get in each other's way over the units of this class: 1 over all of them, 0 over none, -1 it depends. */
static int shares_units(const struct xr_machine *m, bool fp)
{
	static const enum xr_op ops[] = {XR_ADD, XR_MUL, XR_DIV};
	int shared = 0, apart = 0;
	for (int i = 0; i < 3; i++) {
		const struct xr_machine_op *o = xr_machine_op(m, ops[i], fp ? XR_F64 : XR_I64);
		if (!o)
			continue;
		double taken = fmin(1, m->width * o->busy / m->unit[o->unit].count) *
		               m->smt; /* a thread alone can use no more */
		if (!(m->shared_units >> o->unit & 1) || taken <= 1)
			apart++;
		else if (taken >= 1.4)
			shared++;
		else
			return -1;
	}
	return !apart ? 1 : !shared ? 0 : -1;
}

static struct xr_truth contexts(const struct xr_machine *m, const char *class)
{
	int logical = m->cores * m->smt, mem = xr_core_mem_unit(m), shares = 0;
	if (m->smt == 1)
		return count((uint64_t)logical);
	if (is(class, "fp") && !xr_machine_op(m, XR_ADD, XR_F64))
		return unsaid;
	if (is(class, "mem")) { /* siblings share the first cache: walks of all of them must fit */
		int first = cache_index(m, "l1d");
		if ((mem >= 0 && m->shared_units >> mem & 1) || first < 0 ||
		    m->cache[first].capacity < 8192u * (unsigned)m->smt)
			return unsaid;
	} else {
		shares = shares_units(m, is(class, "fp"));
	}
	return shares < 0 ? unsaid : count((uint64_t)(shares > 0 ? m->cores : logical));
}

static struct xr_truth threads_truth(const struct xr_machine *m, const struct words *w)
{
	/* Siblings show by units they both want or by a first level they both use. */
	bool shows_it = m->smt == 1 || m->n_caches > 0;
	for (int u = 0; u < m->n_units; u++)
		shows_it |= m->shared_units >> u & 1 && m->unit[u].count <= m->width;
	const char *why = "siblings share nothing that a thread alone could use up";
	if (m->cores * m->smt == 1 && !(m->timeslice_ms > 0))
		return unsaid; /* no threads at all */
	if (is(w->word[1], "logical"))
		return count((uint64_t)(m->cores * m->smt));
	if (is(w->word[1], "cores"))
		return hidden_if(!shows_it, why, count((uint64_t)m->cores));
	if (is(w->word[1], "smt"))
		return hidden_if(!shows_it, why, count((uint64_t)m->smt));
	if (is(w->word[1], "siblings"))
		return hidden_if(!shows_it, why, siblings(m));
	if (is(w->word[1], "contexts"))
		return contexts(m, w->word[2]);
	return unsaid;
}

static struct xr_truth clock_truth(const struct xr_machine *m, const struct words *w)
{
	if (is(w->word[0], "timer") && is(w->word[1], "resolution"))
		return number(m->timer_ns, 0.02, 0);
	if (is(w->word[0], "timer") && is(w->word[1], "overhead"))
		return number(m->timer_cost_ns, 0.05 + m->jitter, 0.2);
	if (is(w->word[0], "cpu") && is(w->word[1], "frequency"))
		return m->drift + m->step + m->ramp >= 0.015 /* a clock that wanders has no one frequency */
		               ? unsaid
		               : hidden_if(xr_core_reference(m) != 1,
		                           "an addition does not take one cycle, so cycles cannot be counted",
		                           number(m->mhz * 1e6, clock_error(m), 0));
	return unsaid;
}

static struct xr_truth prefetch_truth(const struct xr_machine *m, const struct words *w)
{
	if (!m->n_caches)
		return absent("no cache to fetch into");
	if (is(w->word[1], "adjacent"))
		return exact(json_boolean(m->prefetch_adjacent));
	if (is(w->word[1], "stride"))
		return hidden_if(m->prefetch_stream, "streams look like strides",
		                 exact(json_boolean(m->prefetch_stride)));
	if (is(w->word[1], "stream"))
		return hidden_if(m->prefetch_stride, "strides look like streams",
		                 exact(json_boolean(m->prefetch_stream)));
	if (is(w->word[1], "distance"))
		return m->prefetch_stream ? count((uint64_t)m->prefetch_distance) : absent("no stream is followed");
	return unsaid;
}

static struct xr_truth system_truth(const struct xr_machine *m, const struct words *w)
{
	if (is(w->word[0], "sharing") && is(w->word[1], "granule")) {
		if (m->cores < 2 || !xr_model_granule(m))
			return absent("no two cores that could fight for a line");
		return count(xr_model_granule(m));
	}
	if (is(w->word[0], "topology") && is(w->word[1], "numa_nodes") &&
	    m->cores > 2) /* two are one pair: nothing to compare */
		return hidden_if(m->nodes > 1 && (m->far_ns < 1.3 * m->near_ns || m->nodes == m->cores),
		                 "all cores are equally far from each other", count((uint64_t)m->nodes));
	if (is(w->word[0], "os") && is(w->word[1], "timeslice"))
		return m->timeslice_ms > 0 ? number(m->timeslice_ms * 1e-3, 0.1, 0) : absent("nobody slices time");
	if (is(w->word[0], "os") && is(w->word[1], "context_switch"))
		return m->timeslice_ms > 0 ? number(m->switch_us * 1e-6, 0.05 + m->jitter, 0)
		                           : absent("nobody switches");
	if (is(w->word[0], "branch") && is(w->word[1], "mispredict"))
		return hidden_if(xr_core_reference(m) != 1, "cycles cannot be counted",
		                 number(m->mispredict, 0.02, 0.5));
	return unsaid;
}

static const struct {
	const char *first;
	struct xr_truth (*truth)(const struct xr_machine *m, const struct words *w);
} rooms[] = {
	{"timer", clock_truth},     {"cpu", clock_truth},           {"op", op_truth},
	{"isa", isa_truth},         {"registers", registers_truth}, {"units", units_truth},
	{"threads", threads_truth}, {"cache", cache_truth},         {"tlb", tlb_truth},
	{"memory", memory_truth},   {"prefetch", prefetch_truth},   {"sharing", system_truth},
	{"topology", system_truth}, {"os", system_truth},           {"branch", system_truth},
};

struct xr_truth xr_model_truth_of(const struct xr_machine *machine, const char *fact_id)
{
	struct words w;
	split(fact_id, &w);
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		if (is(rooms[i].first, w.word[0]))
			return rooms[i].truth(machine, &w);
	return unsaid;
}

void xr_truth_release(struct xr_truth *truth)
{
	json_decref(truth->value);
	*truth = unsaid;
}

json_t *xr_model_truth(const struct xr_machine *machine, const char *fact_id)
{
	struct xr_truth truth = xr_model_truth_of(machine, fact_id);
	if (truth.kind == XR_TRUTH_VALUE)
		return truth.value;
	xr_truth_release(&truth);
	return NULL;
}

/* ---- comparing ---- */

/* Policies that no sequence of accesses can tell apart at this number of ways. */
static bool same_policy(uint64_t ways, const char *a, const char *b)
{
	bool like_lru =
		(is(a, "lru") || is(a, "plru") || is(a, "nru")) && (is(b, "lru") || is(b, "plru") || is(b, "nru"));
	return is(a, b) || ways == 1 || (ways == 2 && like_lru);
}

static bool nothing(const json_t *found)
{
	return !found || json_is_null(found) || json_is_false(found) ||
	       (json_is_number(found) && json_number_value(found) == 0);
}

bool xr_truth_agrees(const struct xr_machine *machine, const char *fact_id, const struct xr_truth *truth,
                     const json_t *found)
{
	struct words w;
	switch (truth->kind) {
	case XR_TRUTH_UNSAID:
		return true;
	case XR_TRUTH_ABSENT:
		return nothing(found);
	case XR_TRUTH_HIDDEN:
		if (!found || json_is_null(found))
			return true;
		break;
	case XR_TRUTH_VALUE:
		break;
	}
	if (!found)
		return false;
	if (json_is_number(truth->value) && json_is_number(found)) {
		double want = json_number_value(truth->value), got = json_number_value(found);
		return fabs(got - want) <= fmax(fabs(want) * truth->relative, truth->absolute) + 1e-9 * fabs(want);
	}
	split(fact_id, &w);
	if (json_is_string(truth->value) && json_is_string(found) && is(w.word[2], "policy")) {
		int index = cache_index(machine, w.word[1]);
		return index >= 0 && same_policy(xr_machine_ways(&machine->cache[index]),
		                                 json_string_value(truth->value), json_string_value(found));
	}
	return json_equal(truth->value, found);
}

/* ---- all of them ---- */

static void offer(const struct xr_machine *machine, const char *id, void (*each)(void *self, const char *fact_id),
                  void *self)
{
	struct xr_truth truth = xr_model_truth_of(machine, id);
	if (truth.kind == XR_TRUTH_VALUE)
		each(self, id);
	xr_truth_release(&truth);
}

void xr_model_truth_ids(const struct xr_machine *machine, void (*each)(void *self, const char *fact_id), void *self)
{
	static const char *const single[] = {
		"timer.resolution",
		"timer.overhead",
		"cpu.frequency",
		"isa.simd.width",
		"registers.int",
		"registers.f32",
		"registers.f64",
		"registers.v16",
		"registers.v32",
		"registers.v64",
		"threads.logical",
		"threads.cores",
		"threads.smt",
		"threads.siblings",
		"threads.contexts.int",
		"threads.contexts.fp",
		"threads.contexts.mem",
		"cache.levels",
		"memory.latency",
		"memory.latency_ns",
		"memory.parallelism",
		"memory.page_size",
		"memory.page_resizing",
		"memory.bandwidth.read.one",
		"memory.bandwidth.read.all",
		"prefetch.adjacent",
		"prefetch.stride",
		"prefetch.stream",
		"prefetch.distance",
		"sharing.granule",
		"topology.numa_nodes",
		"os.timeslice",
		"os.context_switch",
		"branch.mispredict",
	};
	static const char *const of_cache[] = {"capacity", "ways",           "line",       "latency",
	                                       "policy",   "write_allocate", "write_back", "unified",
	                                       "index",    "inclusion",      "shared_by"};
	static const char *const caches[] = {"l1d", "l1i", "l2", "l3", "l4"};
	static const char *const of_tlb[] = {"entries", "ways", "penalty", "page"};
	static const char *const tlbs[] = {"d1", "d2", "i1"};
	static const char *const of_op[] = {"latency", "throughput", "in_flight"};
	char id[128];
	for (size_t i = 0; i < sizeof single / sizeof *single; i++)
		offer(machine, single[i], each, self);
	for (int t = 0; t < XR_N_TYPES; t++) {
		snprintf(id, sizeof id, "isa.fpu.%s", xr_types[t].name);
		offer(machine, id, each, self);
		snprintf(id, sizeof id, "isa.fma.%s", xr_types[t].name);
		offer(machine, id, each, self);
		snprintf(id, sizeof id, "isa.simd.%s", xr_types[t].name);
		offer(machine, id, each, self);
		for (int op = 0; op < XR_N_NAMED_OPS; op++) {
			for (int k = 0; k < 3; k++) {
				snprintf(id, sizeof id, "op.%s.%s.%s", xr_ops[op].name, xr_types[t].name, of_op[k]);
				offer(machine, id, each, self);
			}
			snprintf(id, sizeof id, "units.%s.%s", xr_ops[op].name, xr_types[t].name);
			offer(machine, id, each, self);
		}
	}
	for (size_t c = 0; c < sizeof caches / sizeof *caches; c++)
		for (size_t k = 0; k < sizeof of_cache / sizeof *of_cache; k++) {
			snprintf(id, sizeof id, "cache.%s.%s", caches[c], of_cache[k]);
			offer(machine, id, each, self);
		}
	offer(machine, "cache.l2i.capacity", each, self);
	offer(machine, "cache.l2i.miss_penalty", each, self);
	offer(machine, "cache.l2i.unified", each, self);
	for (size_t c = 0; c < sizeof tlbs / sizeof *tlbs; c++)
		for (size_t k = 0; k < sizeof of_tlb / sizeof *of_tlb; k++) {
			snprintf(id, sizeof id, "tlb.%s.%s", tlbs[c], of_tlb[k]);
			offer(machine, id, each, self);
		}
}
