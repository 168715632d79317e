/* SPDX-License-Identifier: MIT */
#include "truths.h"

#include "infer/replacement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		int first = xr_truth_cache_index(m, "l1d");
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
		return number(m->timer_cost_ns, 0.05 + m->jitter + m->timer_spread, 0.2);
	if (is(w->word[0], "cpu") && is(w->word[1], "frequency"))
		return m->drift + m->step + m->ramp >= 0.015 /* a clock that wanders has no one frequency */
		               ? unsaid
		               : hidden_if(xr_core_reference(m) != 1,
		                           "an addition does not take one cycle, so cycles cannot be counted",
		                           number(m->mhz * 1e6, clock_error(m), 0));
	return unsaid;
}

/* Can it be seen that a line was fetched ahead: a level to fetch into that is known, not too large to be left, and
 * clearly quicker than what is behind it; lines as long in both? */
static bool fetched_is_quicker(const struct xr_machine *m)
{
	const int first = xr_truth_cache_index(m, "l1d"), second = xr_truth_cache_index(m, "l2"),
		  third = xr_truth_cache_index(m, "l3");
	if (first < 0 || second < 0 || m->value_prediction || m->memory_bytes < UINT64_C(1) << 30)
		return false;
	const struct xr_machine_cache *a = &m->cache[first], *b = &m->cache[second];
	const double behind = third < 0 ? m->memory_latency : m->cache[third].latency;
	return a->line_bytes == b->line_bytes && (third < 0 || m->cache[third].line_bytes == b->line_bytes) &&
	       b->capacity >= 4 * a->capacity && b->capacity <= 2 << 20 && b->capacity / b->line_bytes <= 40000 &&
	       (xr_machine_ways(b) >= 4 || b->capacity / b->line_bytes <= 16000) && behind > 2 * b->latency &&
	       !m->walk_levels && b->inclusion != XR_EXCLUSIVE && b->neighbours_gbs <= 0 &&
	       (third < 0 ||
	        (m->cache[third].capacity >= 4 * b->capacity && m->cache[third].inclusion != XR_EXCLUSIVE)) &&
	       xr_core_reference(m) == 1;
}

/* Who learns which miss comes after which, by as many misses as it takes to leave the second cache: of lines at one offset
 * of their pages, and those of another order beside them. */
static struct xr_truth temporal_truth(const struct xr_machine *m)
{
	const int second = xr_truth_cache_index(m, "l2");
	if (!fetched_is_quicker(m))
		return hidden_if(true, "what is fetched ahead is hardly quicker, or there is no room to miss", unsaid);
	const struct xr_machine_cache *c = &m->cache[second];
	const uint64_t page = m->page_bytes ? m->page_bytes : 4096,
		       lines = c->capacity / page > 32 ? c->capacity / page : 32;
	const bool plain = !c->hash && !c->index_bits.n && !c->modulo && !c->slices;
	return hidden_if(m->prefetch_temporal && (!plain || m->prefetch_temporal < 16 * lines),
	                 "it remembers fewer misses than it takes to leave the cache",
	                 exact(json_boolean(m->prefetch_temporal > 0)));
}

static struct xr_truth prefetch_truth(const struct xr_machine *m, const struct words *w)
{
	if (!m->n_caches)
		return absent("no cache to fetch into");
	if (is(w->word[1], "temporal"))
		return temporal_truth(m);
	const bool told =
		fetched_is_quicker(m) && !m->prefetch_temporal; /* who learns the whole lap hides the others */
	const char *why = "what is fetched ahead is hardly quicker, or lines are pairs, or there is no room to miss";
	if (is(w->word[1], "adjacent"))
		return hidden_if(!told, why, exact(json_boolean(m->prefetch_adjacent)));
	if (is(w->word[1], "next"))
		return hidden_if(!told, why, exact(json_false()));
	if (is(w->word[1], "stride"))
		return hidden_if(!told, why, exact(json_boolean(m->prefetch_stride)));
	if (is(w->word[1], "stream")) /* the third line is two further on */
		return hidden_if(!told || m->prefetch_distance < 2, why, exact(json_boolean(m->prefetch_stream)));
	if (is(w->word[1], "distance"))
		return m->prefetch_stream ? hidden_if(!told || m->prefetch_distance < 2 || m->prefetch_distance > 16 ||
		                                              m->page_bytes / 2 < 32 * m->cache[0].line_bytes,
		                                      why, count((uint64_t)m->prefetch_distance))
		                          : absent("no stream is followed");
	if (!m->prefetch_stride)
		return absent("no stride is followed");
	if (is(w->word[1], "stride_max"))
		return hidden_if(!told, why, count(8192));
	if (is(w->word[1], "down"))
		return hidden_if(!told, why, exact(json_true()));
	if (is(w->word[1], "across_pages"))
		return hidden_if(!told || m->page_bytes > 8192, why, exact(json_true()));
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

/* Can misses of the first cache of data be counted as the engine does it: sets that a row of lines fills evenly,
 * nothing fetched into it that nobody asked for, more lines than it holds in what is walked over? */
static bool first_is_plain(const struct xr_machine *m, const struct xr_machine_cache *c)
{
	const uint64_t way = c->capacity / xr_machine_ways(c);
	const bool alone = xr_truth_cache_index(m, "l2") < 0;
	return !c->hash && !c->index_bits.n && !c->modulo && !c->slices && !c->way_bits.n && !c->rival &&
	       c->neighbours_gbs <= 0 && c->capacity <= 256 << 10 && xr_machine_ways(c) <= 64 &&
	       (c->index == XR_VIRTUAL || way <= m->page_bytes || !m->page_bytes) &&
	       !(alone && (m->prefetch_adjacent || m->prefetch_stream || m->prefetch_temporal));
}

/* What counters say is what the file says of the same; where they lie, they must not be used. */
static struct xr_truth counters_truth(const struct xr_machine *m, const struct words *w)
{
	const bool little = m->memory_bytes < UINT64_C(1) << 30;
	const int data = xr_truth_cache_index(m, "l1d"), code = xr_truth_cache_index(m, "l1i");
	struct words inner = {.n = w->n - 1};
	for (int i = 1; i < 8; i++)
		inner.word[i - 1] = w->word[i];
	inner.word[7] = "";
	if (!m->counters || data < 0)
		return absent("no counters, or no cache");
	if (m->lies)
		return m->lies == XR_LIES_SCALED ? unsaid : is(w->word[1], "usable") ? unsaid : absent("counters lie");
	if (is(w->word[1], "tlb")) {
		struct xr_truth truth = xr_truth_of_tlb(m, &inner);
		const bool far = truth.kind == XR_TRUTH_VALUE && json_integer_value(truth.value) > 1024;
		return hidden_if(little || far, "too few pages to see them miss", truth);
	}
	if (is(w->word[1], "usable"))
		return unsaid;
	struct words cache = {.word = {"cache", w->word[1], w->word[2], "", "", "", "", ""}, .n = 3};
	const struct xr_machine_cache *c = is(w->word[1], "l1i") ? code < 0 ? NULL : &m->cache[code] : &m->cache[data];
	return hidden_if(little || !c || !first_is_plain(m, c) ||
	                         (is(w->word[1], "l1i") && (m->decoded_ops || m->prefetch_code_lines)),
	                 "lines do not come and go one by one", xr_truth_of_cache(m, &cache));
}

static const struct {
	const char *first;
	struct xr_truth (*truth)(const struct xr_machine *m, const struct words *w);
} rooms[] = {
	{"timer", clock_truth},
	{"cpu", clock_truth},
	{"op", op_truth},
	{"isa", isa_truth},
	{"registers", registers_truth},
	{"units", units_truth},
	{"threads", threads_truth},
	{"cache", xr_truth_of_cache},
	{"tlb", xr_truth_of_tlb},
	{"memory", xr_truth_of_memory},
	{"prefetch", prefetch_truth},
	{"counters", counters_truth},
	{"sharing", system_truth},
	{"topology", system_truth},
	{"os", system_truth},
	{"branch", system_truth},
};

/* Who is whose sibling, or near to whom. */
static bool is_of_places(const struct words *w)
{
	return is(w->word[0], "topology") || is(w->word[2], "shared_by") ||
	       (is(w->word[0], "threads") && !is(w->word[1], "logical"));
}

/* What a busy sibling takes a part of. */
static bool is_of_siblings(const struct words *w)
{
	return is(w->word[0], "units") || is(w->word[2], "contexts") || is(w->word[3], "throughput") ||
	       is(w->word[3], "in_flight") || (is(w->word[0], "cache") && w->word[1][1] == '1') ||
	       (is(w->word[0], "tlb") && w->word[1][1] == '1');
}

/* So much of the time that what is left beside it is what there is. */
static const double mostly = 0.8;

struct xr_truth xr_model_truth_of(const struct xr_machine *machine, const char *fact_id)
{
	struct words w;
	split(fact_id, &w);
	if (machine->sibling >= mostly && machine->sibling_takes > 0 && is_of_siblings(&w))
		return unsaid; /* effective or as built? either would be an answer */
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		if (is(rooms[i].first, w.word[0]))
			return hidden_if(machine->migrate_hz > 0 && is_of_places(&w),
			                 "a hypervisor moves the CPUs from core to core", rooms[i].truth(machine, &w));
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

/* r2 fills an empty set in another order than r0, and is the same ever after; so are mru_n and nru. */
static int full_set(int policy)
{
	if (policy < 0 || xr_policy_kind(policy) != XR_QLRU)
		return policy == XR_MRU_N ? XR_NRU : policy;
	struct xr_qlru q = xr_policy_qlru_of(policy);
	q.replace = q.replace == 2 ? 0 : q.replace;
	return xr_policy_qlru(&q);
}

/* Do two policies miss alike on random sequences? */
static bool same_misses(uint64_t ways, const char *a, const char *b)
{
	int first = full_set(xr_policy_parse(a)), second = full_set(xr_policy_parse(b));
	if (first == second)
		return true;
	struct xr_arena arena = {0};
	struct xr_rng rng = {ways};
	bool same = first >= 0 && second >= 0 && !xr_policy_is_random(first) && !xr_policy_is_random(second) &&
	            xr_policy_takes_ways(first, ways) && xr_policy_takes_ways(second, ways);
	for (int i = 0; i < 60 && same; i++) {
		size_t blocks, n = (size_t)ways;
		struct xr_sequence s = xr_sequence_draw(&arena, &rng, n, i % 2, 8, &blocks);
		same = fabs(xr_sequence_misses(&s, first, n, &rng) - xr_sequence_misses(&s, second, n, &rng)) < 0.3;
	}
	xr_arena_release(&arena);
	return same;
}

/* Policies that no sequence of accesses can tell apart at this number of ways. */
static bool same_policy(uint64_t ways, const char *a, const char *b)
{
	bool like_lru =
		(is(a, "lru") || is(a, "plru") || is(a, "nru")) && (is(b, "lru") || is(b, "plru") || is(b, "nru"));
	if (is(b, "qlru"))
		return !strncmp(a, "qlru_", 5); /* the family */
	return is(a, b) || ways == 1 || (ways == 2 && like_lru) || same_misses(ways, a, b);
}

static uint64_t tlb_ways(const struct xr_machine *m) /* of the first one of data */
{
	for (int i = 0; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & XR_HOLDS_DATA)
			return xr_machine_tlb_ways(&m->tlb[i]);
	return 1;
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
		int index = xr_truth_cache_index(machine, w.word[1]);
		if (is(w.word[0], "tlb"))
			return same_policy(tlb_ways(machine), json_string_value(truth->value),
			                   json_string_value(found));
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
		"prefetch.temporal",
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
	static const char *const tlbs[] = {"d1", "d2", "d3", "i1", "i2"};
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
