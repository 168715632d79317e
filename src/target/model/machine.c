#include "target/model/machine.h"

#include <string.h>

enum { LINES_MAX = 1 << 25 };

const char *const xr_policy_names[] = {"lru", "plru", "nru", "fifo", "random", "srrip", NULL};
const char *const xr_inclusion_names[] = {"none", "inclusive", "exclusive", NULL};

void xr_machine_init(struct xr_machine *machine)
{
	*machine = (struct xr_machine){
		.name = "unnamed",
		.mhz = 3000,
		.width = 4,
		.unit = {{"alu", 4}, {"mul", 1}, {"fp", 2}, {"div", 1}, {"mem", 2}},
		.n_units = 5,
		.timer_ns = 1,
		.timer_cost_ns = 20,
		.registers_int = 14,
		.registers_fp = 16,
		.registers_vector = 16,
		.vector_bytes = 32,
		.spill_cycles = 4,
		.memory_latency = 250,
		.parallelism = 12,
		.bandwidth_gbs = 20,
		.memory_bytes = UINT64_C(8) << 30,
		.page_bytes = 4096,
		.huge_bytes = 2 << 20,
		.placement = XR_PLACE_RANDOM,
		.resizing_ms = 5,
		.prefetch_distance = 4,
		.cores = 4,
		.smt = 1,
		.nodes = 1,
		.shared_names = "fp mul div",
		.near_ns = 40,
		.far_ns = 110,
		.timeslice_ms = 4,
		.switch_us = 2,
		.mispredict = 16,
		.preempt_ms = 4,
		.step_ms = 100,
		.ramp_ms = 50,
	};
}

struct xr_machine_cache *xr_machine_add_cache(struct xr_machine *m, const char *name, int holds, uint64_t ways,
                                              uint64_t sets, uint64_t line, double latency, int policy, int index)
{
	struct xr_machine_cache *c = &m->cache[m->n_caches++];
	*c = (struct xr_machine_cache){.holds = holds,
	                               .capacity = ways * sets * line,
	                               .ways = ways,
	                               .line_bytes = line,
	                               .latency = latency,
	                               .policy = policy,
	                               .index = index,
	                               .write_allocate = 1,
	                               .write_back = 1,
	                               .shared_by = 1};
	snprintf(c->name, sizeof c->name, "%s", name);
	return c;
}

void xr_machine_add_tlb(struct xr_machine *m, const char *name, int holds, uint64_t entries, uint64_t ways,
                        double penalty, int policy)
{
	struct xr_machine_tlb *t = &m->tlb[m->n_tlbs++];
	*t = (struct xr_machine_tlb){
		.holds = holds, .entries = entries, .ways = ways, .penalty = penalty, .policy = policy};
	snprintf(t->name, sizeof t->name, "%s", name);
}

int xr_machine_unit(const struct xr_machine *machine, const char *name)
{
	for (int i = 0; i < machine->n_units; i++)
		if (!strcmp(machine->unit[i].name, name))
			return i;
	return -1;
}

bool xr_machine_replaces_randomly(const struct xr_machine *machine)
{
	for (int i = 0; i < machine->n_caches; i++)
		if (machine->cache[i].policy == XR_RANDOM)
			return true;
	for (int i = 0; i < machine->n_tlbs; i++)
		if (machine->tlb[i].policy == XR_RANDOM)
			return true;
	return false;
}

bool xr_machine_has_neighbours(const struct xr_machine *machine)
{
	for (int i = 0; i < machine->n_caches; i++)
		if (machine->cache[i].neighbours_gbs > 0)
			return true;
	return false;
}

uint64_t xr_machine_ways(const struct xr_machine_cache *cache)
{
	return cache->ways ? cache->ways : cache->capacity / cache->line_bytes;
}

uint64_t xr_machine_sets(const struct xr_machine_cache *cache)
{
	return cache->capacity / cache->line_bytes / xr_machine_ways(cache);
}

uint64_t xr_machine_tlb_ways(const struct xr_machine_tlb *tlb)
{
	return tlb->ways ? tlb->ways : tlb->entries;
}

int xr_machine_pieces(const struct xr_machine *machine, enum xr_type type)
{
	const struct xr_type_info *t = &xr_types[type];
	if (!t->vector)
		return 1;
	if (!machine->registers_vector || !machine->vector_bytes || machine->emulated[t->element] > 0)
		return 0;
	return t->bytes <= machine->vector_bytes ? 1 : t->bytes / machine->vector_bytes;
}

/* The section that says what an operation costs: of the type itself, of its element, of its class. */
static const struct xr_machine_op *section_of(const struct xr_machine *machine, enum xr_op op, enum xr_type type)
{
	const struct xr_machine_op *o = &machine->type_op[op][type];
	if (!o->there)
		o = &machine->type_op[op][xr_types[type].element];
	if (!o->there)
		o = &machine->class_op[op][xr_types[type].fp ? XR_CLASS_FP : XR_CLASS_INT];
	return o->there ? o : NULL;
}

const struct xr_machine_op *xr_machine_op(const struct xr_machine *machine, enum xr_op op, enum xr_type type)
{
	enum xr_type element = xr_types[type].element;
	if (!xr_op_has_type(op, type) || !xr_machine_pieces(machine, type) || machine->emulated[element] > 0)
		return NULL;
	if (op == XR_FMA) {
		if (machine->fma_said[element] && !machine->fma[element])
			return NULL;
		const struct xr_machine_op *fma = section_of(machine, XR_FMA, type);
		if (fma || !machine->fma_said[element])
			return fma;
		return section_of(machine, XR_MUL,
		                  type); /* [fma] says yes and nothing else: costs what a multiply does */
	}
	return section_of(machine, op, type);
}

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

static int check_op(struct xr_machine *machine, struct xr_machine_op *op, enum xr_op which, bool fp, const char *name,
                    struct xr_error *err)
{
	static const char *const fallback[2][3] = {{"alu", "int", "core"}, {"fp", "fpu", "alu"}};
	if (!op->there)
		return 0;
	if (op->unit_name[0]) {
		op->unit = xr_machine_unit(machine, op->unit_name);
		if (op->unit < 0)
			return xr_fail(err, XR_EXIT_USE,
			               "%s:%d: [op %s] uses unit '%s', which [cpu] units does not list", name, op->line,
			               xr_ops[which].name, op->unit_name);
		return 0;
	}
	op->unit = xr_machine_unit(machine, xr_ops[which].name);
	for (int i = 0; i < 3 && op->unit < 0; i++)
		op->unit = xr_machine_unit(machine, fallback[fp][i]);
	if (op->unit < 0)
		op->unit = 0;
	memcpy(op->unit_name, machine->unit[op->unit].name, sizeof op->unit_name);
	return 0;
}

static int check_ops(struct xr_machine *machine, const char *name, struct xr_error *err)
{
	for (int op = 0; op < XR_N_OPS; op++) {
		for (int c = 0; c < XR_N_CLASSES; c++)
			if (check_op(machine, &machine->class_op[op][c], (enum xr_op)op, c == XR_CLASS_FP, name, err))
				return -1;
		for (int t = 0; t < XR_N_TYPES; t++)
			if (check_op(machine, &machine->type_op[op][t], (enum xr_op)op, xr_types[t].fp, name, err))
				return -1;
	}
	return 0;
}

static int check_cache(const struct xr_machine *machine, const struct xr_machine_cache *c, const char *name,
                       struct xr_error *err)
{
	if (!c->capacity || !c->line_bytes)
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] has no %s", name, c->line, c->name,
		               c->capacity ? "line" : "capacity");
	if (!is_power(c->line_bytes))
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] line = %llu is not a power of two", name, c->line,
		               c->name, (unsigned long long)c->line_bytes);
	uint64_t lines = c->capacity / c->line_bytes, ways = c->ways ? c->ways : lines;
	if (!lines || c->capacity % c->line_bytes || ways > lines || lines % ways)
		return xr_fail(err, XR_EXIT_USE,
		               "%s:%d: [cache %s] capacity = %llu is not a multiple of ways x line = %llu", name,
		               c->line, c->name, (unsigned long long)c->capacity,
		               (unsigned long long)(ways * c->line_bytes));
	if (lines > LINES_MAX)
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] has %llu lines, more than can be simulated (%d)",
		               name, c->line, c->name, (unsigned long long)lines, LINES_MAX);
	if (!is_power(lines / ways) && !c->hash)
		return xr_fail(err, XR_EXIT_USE,
		               "%s:%d: [cache %s] has %llu sets, not a power of two: only hash = yes can", name,
		               c->line, c->name, (unsigned long long)(lines / ways));
	if (machine->page_bytes && c->line_bytes > machine->page_bytes)
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] line = %llu is longer than a page", name, c->line,
		               c->name, (unsigned long long)c->line_bytes);
	if (c->shared_by > machine->cores)
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] shared_by = %d, but there are %d cores", name,
		               c->line, c->name, c->shared_by, machine->cores);
	if (c->neighbours_gbs > 0 && !(c->holds & XR_HOLDS_DATA))
		return xr_fail(err, XR_EXIT_USE, "%s:%d: [cache %s] neighbours_gbs = %g, but it holds no data", name,
		               c->line, c->name, c->neighbours_gbs);
	return 0;
}

static void find_shared_units(struct xr_machine *machine)
{
	char names[sizeof machine->shared_names];
	char *rest = NULL;
	memcpy(names, machine->shared_names, sizeof names);
	machine->shared_units = 0;
	for (char *word = strtok_r(names, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
		int unit = xr_machine_unit(machine, word);
		if (unit >= 0)
			machine->shared_units |= 1u << unit;
	}
}

/* Files list levels from the core outwards, but may list those of data before those of code: [tlb d2] that holds both,
 * then [tlb i1]. What holds one kind is nearer than what holds both; beyond that the order of the file stands. */
static void put_in_order(struct xr_machine *machine)
{
	for (int i = 1; i < machine->n_caches; i++)
		for (int j = i;
		     j && machine->cache[j].holds != XR_HOLDS_BOTH && machine->cache[j - 1].holds == XR_HOLDS_BOTH;
		     j--) {
			struct xr_machine_cache swap = machine->cache[j];
			machine->cache[j] = machine->cache[j - 1];
			machine->cache[j - 1] = swap;
		}
	for (int i = 1; i < machine->n_tlbs; i++)
		for (int j = i;
		     j && machine->tlb[j].holds != XR_HOLDS_BOTH && machine->tlb[j - 1].holds == XR_HOLDS_BOTH; j--) {
			struct xr_machine_tlb swap = machine->tlb[j];
			machine->tlb[j] = machine->tlb[j - 1];
			machine->tlb[j - 1] = swap;
		}
}

int xr_machine_check(struct xr_machine *machine, const char *name, struct xr_error *err)
{
	if (check_ops(machine, name, err))
		return -1;
	for (int i = 0; i < machine->n_caches; i++)
		if (check_cache(machine, &machine->cache[i], name, err))
			return -1;
	for (int i = 0; i < machine->n_tlbs; i++) {
		const struct xr_machine_tlb *t = &machine->tlb[i];
		uint64_t ways = t->ways ? t->ways : t->entries;
		if (!t->entries || ways > t->entries || t->entries % ways)
			return xr_fail(err, XR_EXIT_USE,
			               "%s:%d: [tlb %s] entries = %llu is not a multiple of ways = %llu", name, t->line,
			               t->name, (unsigned long long)t->entries, (unsigned long long)ways);
	}
	if (machine->page_bytes && !is_power(machine->page_bytes))
		return xr_fail(err, XR_EXIT_USE, "%s:1: [page] size = %llu is not a power of two", name,
		               (unsigned long long)machine->page_bytes);
	if (!machine->page_bytes)
		machine->huge_bytes = 0;
	if (machine->huge_bytes && (!is_power(machine->huge_bytes) || machine->huge_bytes <= machine->page_bytes))
		return xr_fail(err, XR_EXIT_USE, "%s:1: [page] huge = %llu is not a power of two above size", name,
		               (unsigned long long)machine->huge_bytes);
	if (machine->vector_bytes && !is_power((uint64_t)machine->vector_bytes))
		return xr_fail(err, XR_EXIT_USE, "%s:1: [registers] vector_bytes = %d is not a power of two", name,
		               machine->vector_bytes);
	if (machine->nodes > machine->cores || machine->cores % machine->nodes)
		return xr_fail(err, XR_EXIT_USE, "%s:1: [threads] cores = %d cannot be split evenly over nodes = %d",
		               name, machine->cores, machine->nodes);
	find_shared_units(machine);
	put_in_order(machine);
	return 0;
}

static void scale(uint64_t *total, uint64_t *ways, uint64_t unit, uint64_t by)
{
	uint64_t lines = *total / unit, w = *ways ? *ways : lines, sets = w ? lines / w : 0;
	if (by < 2)
		return;
	if (sets >= by) {
		sets /= by;
	} else {
		w = w * sets / by ? w * sets / by : 1;
		sets = 1;
	}
	*total = sets * w * unit;
	*ways = w;
}

struct xr_machine xr_machine_scaled(const struct xr_machine *machine, uint64_t by, uint64_t stride)
{
	/* A page has many places left: of few, in an order that repeats, none would be met again soon by chance. */
	const uint64_t places = 16;
	struct xr_machine small = *machine;
	uint64_t least = places * stride, pages_by = 1;
	for (int i = 0; i < small.n_caches; i++) {
		scale(&small.cache[i].capacity, &small.cache[i].ways, small.cache[i].line_bytes, by);
		least = small.cache[i].line_bytes > least ? small.cache[i].line_bytes : least;
	}
	while (pages_by < by && small.page_bytes >= 2 * pages_by * least)
		pages_by *= 2;
	small.page_bytes /= pages_by;
	small.huge_bytes /= pages_by;
	for (int i = 0; i < small.n_tlbs; i++)
		scale(&small.tlb[i].entries, &small.tlb[i].ways, 1, by / pages_by);
	return small;
}
