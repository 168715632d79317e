#include "target/model/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fact's id in words: op.add.i32.latency is {"op", "add", "i32", "latency"}. */
struct words {
	char text[96];
	const char *w[6];
	int n;
};

static bool split(struct words *id, const char *text)
{
	*id = (struct words){0};
	if (strlen(text) >= sizeof id->text)
		return false;
	strcpy(id->text, text);
	for (char *at = id->text; at && id->n < 6;) {
		id->w[id->n++] = at;
		at = strchr(at, '.');
		if (at)
			*at++ = '\0';
	}
	return true;
}

static bool is(const struct words *id, int i, const char *word)
{
	return i < id->n && !strcmp(id->w[i], word);
}

static json_t *count(double value)
{
	return json_integer((json_int_t)llround(value));
}

/* ---- operations ---- */

static double unit_throughput(const struct xr_machine *m, const struct xr_machine_op *op)
{
	int units = op->unit >= 0 && op->unit < m->n_units ? m->unit[op->unit].count : 1;
	return fmax(op->busy / (units > 0 ? units : 1), 1.0 / m->width);
}

static json_t *op_truth(const struct xr_machine *m, const struct words *id)
{
	int op = id->n == 4 ? xr_op_by_name(id->w[1]) : -1, type = id->n == 4 ? xr_type_by_name(id->w[2]) : -1;
	if (op < 0 || type < 0 || op >= XR_N_NAMED_OPS || !xr_op_has_type((enum xr_op)op, (enum xr_type)type))
		return NULL;
	double latency, throughput;
	if (type < XR_N_SCALARS && m->emulated[type] > 0) {
		latency = throughput = m->emulated[type];
		if (op == XR_FMA || op == XR_SQRT || op == XR_CVT || op == XR_MIN)
			return NULL; /* what software makes of these is the compiler's business */
	} else {
		const struct xr_machine_op *cost = xr_machine_op(m, (enum xr_op)op, (enum xr_type)type);
		if (!cost || xr_machine_pieces(m, (enum xr_type)type) != 1)
			return NULL;
		latency = cost->latency;
		throughput = fmin(unit_throughput(m, cost), fmax(latency, 1.0 / m->width));
	}
	if (is(id, 3, "latency") || is(id, 3, "latency_max"))
		return json_real(latency);
	if (is(id, 3, "throughput") || is(id, 3, "throughput_max"))
		return json_real(throughput);
	double flight = latency / throughput;
	if (is(id, 3, "in_flight") && fabs(flight - floor(flight) - 0.5) > 0.15) /* half a unit rounds either way */
		return count(fmax(1, round(flight)));
	return NULL;
}

/* ---- registers, instruction set, units ---- */

static json_t *registers_truth(const struct xr_machine *m, const struct words *id)
{
	int n = 0;
	if (is(id, 1, "int"))
		n = m->registers_int;
	else if (is(id, 1, "f32") || is(id, 1, "f64"))
		n = m->emulated[is(id, 1, "f32") ? XR_F32 : XR_F64] > 0 ? 0 : m->registers_fp;
	else if (id->n == 2 && id->w[1][0] == 'v')
		n = atoi(id->w[1] + 1) <= m->vector_bytes ? m->registers_vector : 0;
	/* registers are counted with additions: no addition, no count */
	enum xr_type type = is(id, 1, "int") ? XR_I32 : is(id, 1, "f32") ? XR_F32 : XR_F64;
	return n > 1 && xr_machine_op(m, XR_ADD, type) ? count(n) : NULL;
}

static json_t *isa_truth(const struct xr_machine *m, const struct words *id)
{
	int type = id->n == 3 ? xr_type_by_name(id->w[2]) : -1;
	bool vectors = m->registers_vector > 0;
	if (is(id, 1, "fpu") && type >= 0 && xr_types[type].fp && type < XR_N_SCALARS) {
		if (m->emulated[type] > 0)
			return m->emulated[type] >= 10 ? json_false() : NULL;
		const struct xr_machine_op *add = xr_machine_op(m, XR_ADD, (enum xr_type)type);
		return add && add->latency < 10 ? json_true() : NULL;
	}
	if (is(id, 1, "fma") && type >= 0 && xr_types[type].fp && type < XR_N_SCALARS && !(m->emulated[type] > 0)) {
		if (!xr_machine_op(m, XR_MUL, (enum xr_type)type) || !xr_machine_op(m, XR_ADD, (enum xr_type)type))
			return NULL;
		return json_boolean(xr_machine_op(m, XR_FMA, (enum xr_type)type) != NULL);
	}
	if (is(id, 1, "simd") && is(id, 2, "width"))
		return vectors && xr_machine_op(m, XR_ADD, XR_V16F32) ? count(m->vector_bytes) : NULL;
	if (is(id, 1, "simd") && type >= XR_N_SCALARS && xr_machine_op(m, XR_ADD, xr_types[type].element))
		return json_boolean(vectors && xr_types[type].bytes <= m->vector_bytes);
	return NULL;
}

static json_t *units_truth(const struct xr_machine *m, const struct words *id)
{
	int op = id->n == 3 ? xr_op_by_name(id->w[1]) : -1, type = id->n == 3 ? xr_type_by_name(id->w[2]) : -1;
	if (op < 0 || type < 0 || (type < XR_N_SCALARS && m->emulated[type] > 0))
		return NULL;
	const struct xr_machine_op *cost = xr_machine_op(m, (enum xr_op)op, (enum xr_type)type);
	if (!cost || cost->busy != 1 || cost->unit < 0 || m->unit[cost->unit].count > m->width ||
	    xr_machine_pieces(m, (enum xr_type)type) != 1)
		return NULL; /* more units than the front end can feed cannot be counted; busy ones neither */
	return count(m->unit[cost->unit].count);
}

/* ---- caches ---- */

/* The levels as data (or code) sees them, from the core outwards. */
static int levels(const struct xr_machine *m, int holds, const struct xr_machine_cache **level)
{
	int n = 0;
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & holds)
			level[n++] = &m->cache[i];
	return n;
}

/* Can a level be seen: larger than the one before, quicker than the one behind, smaller than memory? */
static bool visible(const struct xr_machine *m, const struct xr_machine_cache **level, int n, int i)
{
	double behind = i + 1 < n ? level[i + 1]->latency : m->memory_latency;
	if (level[i]->latency * 1.15 + 0.5 > behind)
		return false;
	if (level[i]->capacity * 4 > m->memory_bytes)
		return false;
	if (i > 0 && level[i]->inclusion != XR_EXCLUSIVE && level[i]->capacity < level[i - 1]->capacity * 3 / 2)
		return false;
	return true;
}

static bool all_visible(const struct xr_machine *m, const struct xr_machine_cache **level, int n)
{
	for (int i = 0; i < n; i++)
		if (!visible(m, level, n, i))
			return false;
	return true;
}

static json_t *geometry(const struct xr_machine *m, const struct xr_machine_cache *c, int i, const char *what)
{
	bool outer = i > 0;
	if (!strcmp(what, "latency"))
		return json_real(c->latency);
	if (!strcmp(what, "line"))
		return count((double)c->line_bytes);
	if (outer && (c->hash || c->shared_by > 1 || c->inclusion == XR_EXCLUSIVE))
		return NULL; /* only its effective size can be told, not these */
	if (outer && m->placement == XR_PLACE_RANDOM && c->index == XR_PHYSICAL && !m->page_bytes)
		return NULL;
	if (!strcmp(what, "capacity"))
		return count((double)c->capacity);
	if (!strcmp(what, "ways"))
		return xr_machine_ways(c) * c->line_bytes == c->capacity && c->capacity > 4096 ? NULL : count((double)xr_machine_ways(c));
	return NULL;
}

static json_t *cache_truth(const struct xr_machine *m, const struct words *id)
{
	const struct xr_machine_cache *level[XR_MACHINE_CACHES];
	int n = levels(m, XR_HOLDS_DATA, level);
	if (is(id, 1, "levels"))
		return all_visible(m, level, n) ? count(n) : NULL;
	if (id->n != 3)
		return NULL;
	int i;
	if (is(id, 1, "l1i")) {
		n = levels(m, XR_HOLDS_CODE, level);
		if (!n || level[0]->holds != XR_HOLDS_CODE)
			return NULL;
		i = 0;
	} else if (is(id, 1, "l1d")) {
		i = 0;
	} else if (id->w[1][0] == 'l' && id->w[1][1] >= '2' && id->w[1][1] <= '6' && !id->w[1][2]) {
		i = id->w[1][1] - '1';
	} else {
		return NULL;
	}
	if (i >= n || !visible(m, level, n, i))
		return NULL;
	for (int k = 0; k < i; k++)
		if (!visible(m, level, n, k))
			return NULL; /* then the numbers are off by one */
	return geometry(m, level[i], i, id->w[2]);
}

/* ---- memory, TLBs ---- */

static int tlbs(const struct xr_machine *m, int holds, const struct xr_machine_tlb **tlb)
{
	int n = 0;
	for (int i = 0; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & holds)
			tlb[n++] = &m->tlb[i];
	return n;
}

static bool room_for_pages(const struct xr_machine *m, double pages)
{
	return pages * 4 * (double)m->page_bytes <= (double)m->memory_bytes;
}

static json_t *tlb_truth(const struct xr_machine *m, const struct words *id)
{
	const struct xr_machine_tlb *tlb[XR_MACHINE_TLBS];
	int n = 0, i = 0;
	if (id->n != 3 || !m->page_bytes)
		return NULL;
	if (is(id, 1, "d1") || is(id, 1, "d2")) {
		n = tlbs(m, XR_HOLDS_DATA, tlb);
		i = is(id, 1, "d2");
	} else if (is(id, 1, "i1")) {
		n = tlbs(m, XR_HOLDS_CODE, tlb);
	}
	if (i >= n || tlb[i]->penalty < 2 || !room_for_pages(m, (double)tlb[i]->entries))
		return NULL;
	if (i > 0 && (tlb[i]->entries < 2 * tlb[i - 1]->entries || tlb[i - 1]->penalty < 2))
		return NULL;
	if (is(id, 2, "entries"))
		return count((double)tlb[i]->entries);
	if (is(id, 2, "ways") && i == 0)
		return count((double)xr_machine_tlb_ways(tlb[i]));
	if (is(id, 2, "penalty"))
		return json_real(tlb[i]->penalty);
	return NULL;
}

static json_t *memory_truth(const struct xr_machine *m, const struct words *id)
{
	const struct xr_machine_tlb *tlb[XR_MACHINE_TLBS];
	const struct xr_machine_cache *level[XR_MACHINE_CACHES];
	int n_tlbs = tlbs(m, XR_HOLDS_DATA, tlb), n = levels(m, XR_HOLDS_DATA, level);
	bool reachable = !n || level[n - 1]->capacity * 4 <= m->memory_bytes;
	if (is(id, 1, "latency"))
		return reachable ? json_real(m->memory_latency) : NULL;
	if (is(id, 1, "latency_ns"))
		return reachable && m->drift + m->step + m->ramp < 0.015 ? json_real(m->memory_latency * 1000 / m->mhz) : NULL;
	if (is(id, 1, "page_size") && m->page_bytes && n_tlbs && tlb[0]->penalty >= 2 &&
	    room_for_pages(m, (double)tlb[0]->entries))
		return count((double)m->page_bytes);
	return NULL;
}

/* ---- the rest ---- */

static json_t *threads_truth(const struct xr_machine *m, const struct words *id)
{
	if (is(id, 1, "logical"))
		return count(m->cores * m->smt);
	bool seen = m->smt == 1 || m->shared_units;
	if (is(id, 1, "cores"))
		return seen ? count(m->cores) : NULL;
	if (is(id, 1, "smt"))
		return seen ? count(m->smt) : NULL;
	return NULL;
}

static json_t *os_truth(const struct xr_machine *m, const struct words *id)
{
	if (is(id, 1, "timeslice") && m->timeslice_ms > 0)
		return json_real(m->timeslice_ms / 1000);
	return NULL;
}

static json_t *timer_truth(const struct xr_machine *m, const struct words *id)
{
	if (is(id, 1, "resolution"))
		return json_real(m->timer_ns);
	return NULL;
}

static json_t *cpu_truth(const struct xr_machine *m, const struct words *id)
{
	/* a clock that wanders has no one frequency */
	if (is(id, 1, "frequency") && m->drift + m->step + m->ramp < 0.015)
		return json_real(m->mhz * 1e6);
	return NULL;
}

static json_t *branch_truth(const struct xr_machine *m, const struct words *id)
{
	return is(id, 1, "mispredict") && m->mispredict > 0 ? json_real(m->mispredict) : NULL;
}

static json_t *sharing_truth(const struct xr_machine *m, const struct words *id)
{
	const struct xr_machine_cache *level[XR_MACHINE_CACHES];
	if (is(id, 1, "granule") && m->cores > 1 && levels(m, XR_HOLDS_DATA, level) > 0)
		return count((double)level[0]->line_bytes);
	return NULL;
}

static json_t *topology_truth(const struct xr_machine *m, const struct words *id)
{
	if (is(id, 1, "numa_nodes") && m->cores > 1 && (m->nodes == 1 || m->far_ns > 1.3 * m->near_ns))
		return count(m->nodes);
	return NULL;
}

static const struct {
	const char *word;
	json_t *(*truth)(const struct xr_machine *machine, const struct words *id);
} table[] = {
	{"op", op_truth},         {"registers", registers_truth}, {"isa", isa_truth},         {"units", units_truth},
	{"cache", cache_truth},   {"tlb", tlb_truth},             {"memory", memory_truth},   {"threads", threads_truth},
	{"os", os_truth},         {"timer", timer_truth},         {"cpu", cpu_truth},         {"branch", branch_truth},
	{"sharing", sharing_truth}, {"topology", topology_truth},
};

json_t *xr_model_truth(const struct xr_machine *machine, const char *fact_id)
{
	struct words id;
	if (!split(&id, fact_id))
		return NULL;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (is(&id, 0, table[i].word))
			return table[i].truth(machine, &id);
	return NULL;
}
