#include "target/model/mem.h"

#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	TRACKERS = 16,     /* pages in which streams are followed */
	STRIDE_MAX = 8192, /* bytes: longer strides are not recognised */
	SLOT_SHIFT = 42,   /* of virtual addresses: every buffer has a slot of its own, strangers the first one */
};

/* A cache or a TLB, of one core or of the cores that share it. */
struct box {
	struct xr_array array;
	const struct xr_machine_cache *cache;
	int group;
	unsigned line_shift;
	double due; /* lines that neighbours are about to bring */
};

struct core {
	bool there;
	struct box *cache[XR_MACHINE_CACHES];
	struct xr_array *tlb[XR_MACHINE_TLBS];
	uint64_t last_page[2]; /* + 1, of data and code: using a translation twice in a row changes nothing */
	uint64_t last_address;
	int64_t last_delta;
	struct {
		uint64_t page, line;
		bool there;
	} tracker[TRACKERS];
};

struct path {
	int n, cache[XR_MACHINE_CACHES];
	int n_tlbs, tlb[XR_MACHINE_TLBS];
};

struct xr_mem {
	const struct xr_machine *machine;
	struct xr_rng rng;
	struct path data, code;
	struct core *core;
	struct box **boxes;
	size_t n_boxes;
	struct xr_mem_buffer **buffer; /* the i-th lies at (i + 1) << SLOT_SHIFT */
	uint64_t n_buffers, frames_given, huge_given, place_key;
	uint64_t accesses, strangers;
	bool prefetches;
	unsigned page_shift, huge_shift;
};

static unsigned log2_of(uint64_t n)
{
	unsigned shift = 0;
	while (n > 1) {
		n /= 2;
		shift++;
	}
	return shift;
}

static const struct path *path_of(const struct xr_mem *mem, enum xr_use use)
{
	return use == XR_USE_FETCH ? &mem->code : &mem->data;
}

struct xr_mem *xr_mem_new(const struct xr_machine *machine, uint64_t seed)
{
	struct xr_mem *mem = xr_calloc(1, sizeof *mem);
	mem->machine = machine;
	mem->rng.state = seed;
	mem->place_key = xr_rng_next(&mem->rng);
	mem->page_shift = log2_of(machine->page_bytes);
	mem->huge_shift = log2_of(machine->huge_bytes);
	for (int i = 0; i < machine->n_caches; i++) {
		if (machine->cache[i].holds & XR_HOLDS_DATA)
			mem->data.cache[mem->data.n++] = i;
		if (machine->cache[i].holds & XR_HOLDS_CODE)
			mem->code.cache[mem->code.n++] = i;
	}
	for (int i = 0; i < machine->n_tlbs && machine->page_bytes; i++) {
		if (machine->tlb[i].holds & XR_HOLDS_DATA)
			mem->data.tlb[mem->data.n_tlbs++] = i;
		if (machine->tlb[i].holds & XR_HOLDS_CODE)
			mem->code.tlb[mem->code.n_tlbs++] = i;
	}
	mem->prefetches =
		mem->data.n && (machine->prefetch_adjacent || machine->prefetch_stream || machine->prefetch_stride);
	mem->core = xr_calloc((size_t)machine->cores, sizeof *mem->core);
	return mem;
}

void xr_mem_free(struct xr_mem *mem)
{
	if (!mem)
		return;
	for (size_t i = 0; i < mem->n_boxes; i++) {
		xr_array_release(&mem->boxes[i]->array);
		free(mem->boxes[i]);
	}
	free(mem->boxes);
	for (int c = 0; c < mem->machine->cores; c++)
		for (int t = 0; t < mem->machine->n_tlbs; t++)
			if (mem->core[c].tlb[t]) {
				xr_array_release(mem->core[c].tlb[t]);
				free(mem->core[c].tlb[t]);
			}
	free(mem->core);
	for (uint64_t i = 0; i < mem->n_buffers; i++) {
		free(mem->buffer[i]->frame);
		free(mem->buffer[i]->huge_frame);
		free(mem->buffer[i]);
	}
	free(mem->buffer);
	free(mem);
}

/* ---- cores and what they share ---- */

static struct box *box_of(struct xr_mem *mem, int index, int group)
{
	const struct xr_machine_cache *cache = &mem->machine->cache[index];
	for (size_t i = 0; i < mem->n_boxes; i++)
		if (mem->boxes[i]->cache == cache && mem->boxes[i]->group == group)
			return mem->boxes[i];
	struct box *box = xr_calloc(1, sizeof *box);
	box->cache = cache;
	box->group = group;
	box->line_shift = log2_of(cache->line_bytes);
	xr_array_init(&box->array, xr_machine_sets(cache), xr_machine_ways(cache), (enum xr_policy)cache->policy,
	              &mem->rng);
	mem->boxes = xr_realloc(mem->boxes, mem->n_boxes + 1, sizeof(struct box *));
	mem->boxes[mem->n_boxes++] = box;
	return box;
}

static void make_core(struct xr_mem *mem, struct core *core, int index)
{
	core->there = true;
	for (int i = 0; i < mem->machine->n_caches; i++)
		core->cache[i] = box_of(mem, i, index / mem->machine->cache[i].shared_by);
	for (int i = 0; i < mem->machine->n_tlbs; i++) {
		const struct xr_machine_tlb *t = &mem->machine->tlb[i];
		core->tlb[i] = xr_calloc(1, sizeof *core->tlb[i]);
		xr_array_init(core->tlb[i], t->entries / xr_machine_tlb_ways(t), xr_machine_tlb_ways(t),
		              (enum xr_policy)t->policy, &mem->rng);
	}
}

static inline struct core *core_of(struct xr_mem *mem, int index)
{
	struct core *core = &mem->core[index];
	if (!core->there)
		make_core(mem, core, index);
	return core;
}

/* ---- pages ---- */

/* The i-th frame of a random order of n frames: a Feistel network over the next even power of two, walked until the
 * result is in range, so that no two pages get the same frame. */
static uint64_t shuffled(uint64_t i, uint64_t n, uint64_t key)
{
	unsigned half = 1;
	while (half < 31 && UINT64_C(1) << 2 * half < n)
		half++;
	uint64_t mask = (UINT64_C(1) << half) - 1;
	do {
		uint64_t left = i >> half & mask, right = i & mask;
		for (unsigned round = 0; round < 4; round++) {
			struct xr_rng mix = {key + right * 4 + round};
			uint64_t swap = left ^ (xr_rng_next(&mix) & mask);
			left = right;
			right = swap;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

static uint64_t frame_count(const struct xr_mem *mem, uint64_t page)
{
	uint64_t n = mem->machine->memory_bytes / page;
	return n ? n < UINT32_MAX ? n : UINT32_MAX - 1 : 1;
}

static uint64_t new_frame(const struct xr_mem *mem, const struct xr_mem_buffer *b, uint64_t page_bytes, uint64_t page,
                          uint64_t base, uint64_t given)
{
	uint64_t n = frame_count(mem, page_bytes);
	if (mem->machine->placement == XR_PLACE_CONTIGUOUS && b->backing != XR_SHUFFLED)
		return (base + page) % n;
	return shuffled(given % n, n, mem->place_key);
}

struct xr_mem_buffer *xr_mem_buffer(struct xr_mem *mem, const struct xr_buffer *want, bool code)
{
	const struct xr_machine *m = mem->machine;
	for (uint64_t i = 0; i < mem->n_buffers; i++) {
		struct xr_mem_buffer *b = mem->buffer[i];
		if (b->id == want->id && b->bytes == want->bytes && b->backing == want->backing && b->code == code)
			return b;
	}
	if (want->bytes > m->memory_bytes)
		return NULL;
	struct xr_mem_buffer *b = xr_calloc(1, sizeof *b);
	*b = (struct xr_mem_buffer){.id = want->id, .bytes = want->bytes, .backing = want->backing, .code = code};
	mem->buffer = xr_realloc(mem->buffer, (size_t)mem->n_buffers + 1, sizeof(struct xr_mem_buffer *));
	mem->buffer[mem->n_buffers++] = b;
	b->address = mem->n_buffers << SLOT_SHIFT;
	if (m->page_bytes) {
		uint64_t pages = want->bytes / m->page_bytes + 1, align = (UINT64_C(1) << 26) / m->page_bytes;
		b->frame = xr_calloc((size_t)pages, sizeof *b->frame);
		b->small_base = xr_rng_below(&mem->rng, 64) * (align ? align : 1);
	}
	if (m->huge_bytes) {
		b->huge_frame = xr_calloc((size_t)(want->bytes / m->huge_bytes + 1), sizeof *b->huge_frame);
		b->huge = want->backing == XR_HUGE && want->bytes >= m->huge_bytes;
	}
	return b;
}

void xr_mem_promote(struct xr_mem *mem, struct xr_mem_buffer *buffer)
{
	buffer->huge = mem->machine->huge_bytes != 0;
}

static uint64_t physical(struct xr_mem *mem, struct xr_mem_buffer *b, uint64_t address)
{
	uint64_t offset = address - b->address;
	if (!b->frame)
		return offset;
	unsigned shift = b->huge ? mem->huge_shift : mem->page_shift;
	uint64_t page = offset >> shift;
	uint32_t *frame = b->huge ? &b->huge_frame[page] : &b->frame[page];
	if (!*frame)
		*frame = 1 + (uint32_t)(b->huge ? new_frame(mem, b, mem->machine->huge_bytes, page, b->huge_base,
		                                            mem->huge_given++)
		                                : new_frame(mem, b, mem->machine->page_bytes, page, b->small_base,
		                                            mem->frames_given++));
	return (uint64_t)(*frame - 1) << shift | (offset & ((UINT64_C(1) << shift) - 1));
}

void xr_mem_back(struct xr_mem *mem, struct xr_mem_buffer *b)
{
	uint64_t step = b->huge ? mem->machine->huge_bytes : mem->machine->page_bytes;
	for (uint64_t offset = 0; b->frame && step && offset < b->bytes; offset += step)
		(void)physical(mem, b, b->address + offset);
}

static bool is_strange(uint64_t address)
{
	return address >> SLOT_SHIFT == 0;
}

static struct xr_mem_buffer *buffer_at(const struct xr_mem *mem, uint64_t address)
{
	return mem->buffer[(address >> SLOT_SHIFT) - 1];
}

static uint64_t tlb_set(const struct xr_mem *mem, const struct core *core, int index, uint64_t page)
{
	const struct xr_array *tlb = core->tlb[index];
	if (tlb->sets & (tlb->sets - 1))
		return page % tlb->sets;
	if (mem->machine->tlb[index].fold)
		page ^= page / tlb->sets;
	return page & (tlb->sets - 1);
}

static double look_up(struct xr_mem *mem, struct core *core, const struct path *path, uint64_t page, uint64_t key,
                      int *missed)
{
	int found = path->n_tlbs;
	for (int i = 0; i < path->n_tlbs; i++) {
		struct xr_array *tlb = core->tlb[path->tlb[i]];
		uint64_t set = tlb_set(mem, core, path->tlb[i], page), *line = xr_array_find(tlb, set, key);
		if (line) {
			xr_array_use(tlb, set, line);
			found = i;
			break;
		}
	}
	for (int i = 0; i < found; i++) {
		struct xr_array *tlb = core->tlb[path->tlb[i]];
		struct xr_victim victim;
		xr_array_put(tlb, tlb_set(mem, core, path->tlb[i], page), key, &victim);
	}
	*missed = found;
	return found ? mem->machine->tlb[path->tlb[found - 1]].penalty : 0;
}

static inline double translate(struct xr_mem *mem, struct core *core, const struct path *path,
                               const struct xr_mem_buffer *b, uint64_t address, int *missed)
{
	if (!path->n_tlbs || !b->frame)
		return 0;
	uint64_t page = address >> (b->huge ? mem->huge_shift : mem->page_shift);
	uint64_t key = page << 1 | b->huge, *last = &core->last_page[path == &mem->code];
	if (*last == key + 1)
		return 0;
	*last = key + 1;
	return look_up(mem, core, path, page, key, missed);
}

/* ---- caches ---- */

/* A place in memory on its way through the caches; the physical address is worked out when first asked for. */
struct spot {
	struct xr_mem_buffer *b;
	uint64_t address, physical;
	bool known;
};

static uint64_t mixed(uint64_t line)
{
	struct xr_rng mix = {line};
	return xr_rng_next(&mix);
}

static inline uint64_t set_of(struct xr_mem *mem, const struct box *box, struct spot *spot)
{
	uint64_t sets = box->array.sets, address = spot->address;
	if (sets == 1)
		return 0;
	if (box->cache->index == XR_PHYSICAL) {
		if (!spot->known)
			spot->physical = physical(mem, spot->b, address);
		spot->known = true;
		address = spot->physical;
	}
	uint64_t line = address >> box->line_shift;
	return box->cache->hash ? (mixed(line) >> 32) * sets >> 32 : line & (sets - 1);
}

static inline uint64_t *find_line(struct xr_mem *mem, const struct box *box, struct spot *spot, uint64_t *set)
{
	*set = set_of(mem, box, spot);
	return xr_array_find(&box->array, *set, spot->address >> box->line_shift);
}

static void leave(struct xr_mem *mem, struct core *core, const struct path *path, int level,
                  const struct xr_victim *victim, double *down);

/* Puts a line into a set where it is not. */
static void fill(struct xr_mem *mem, struct core *core, const struct path *path, int level, const struct spot *spot,
                 uint64_t set, bool dirty, double *down)
{
	struct box *box = core->cache[path->cache[level]];
	struct xr_victim victim;
	uint64_t *line = xr_array_put(&box->array, set, spot->address >> box->line_shift, &victim);
	if (dirty)
		*line |= XR_LINE_DIRTY;
	if (victim.there)
		leave(mem, core, path, level, &victim, down);
}

/* Takes the lines of [address, address + bytes) out of a cache; true when one of them was dirty. */
static bool expel(struct xr_mem *mem, struct box *box, struct xr_mem_buffer *b, uint64_t address, uint64_t bytes)
{
	bool dirty = false;
	uint64_t step = box->cache->line_bytes, set;
	for (uint64_t a = address & ~(step - 1); a < address + bytes; a += step) {
		struct spot spot = {.b = b, .address = a};
		uint64_t *line = find_line(mem, box, &spot, &set);
		if (!line)
			continue;
		dirty |= (*line & XR_LINE_DIRTY) != 0;
		xr_array_drop(&box->array, set, line);
	}
	return dirty;
}

/* What leaves an inclusive level leaves the nearer ones too, of all cores behind it, data and code. */
static bool expel_nearer(struct xr_mem *mem, const struct box *box, struct xr_mem_buffer *b, uint64_t address)
{
	bool dirty = false;
	const struct path *paths[2] = {&mem->data, &mem->code};
	int shared = box->cache->shared_by;
	for (int c = box->group * shared; c < (box->group + 1) * shared && c < mem->machine->cores; c++)
		for (int p = 0; p < 2 && mem->core[c].there; p++) {
			struct core *core = &mem->core[c];
			int at = 0;
			while (at < paths[p]->n && core->cache[paths[p]->cache[at]] != box)
				at++;
			for (int i = 0; i < at && at < paths[p]->n; i++)
				dirty |=
					expel(mem, core->cache[paths[p]->cache[i]], b, address, box->cache->line_bytes);
		}
	return dirty;
}

/* A line left a level: back-invalidation, victims of exclusive levels, write-backs. */
static void leave(struct xr_mem *mem, struct core *core, const struct path *path, int level,
                  const struct xr_victim *victim, double *down)
{
	struct box *box = core->cache[path->cache[level]];
	const struct xr_machine_cache *next = level + 1 < path->n ? core->cache[path->cache[level + 1]]->cache : NULL;
	bool dirty = victim->dirty, inclusive = box->cache->inclusion == XR_INCLUSIVE;
	if (!dirty && !inclusive && !(next && next->inclusion == XR_EXCLUSIVE))
		return;
	uint64_t address = victim->key << box->line_shift;
	if (is_strange(address))
		return;
	struct xr_mem_buffer *b = buffer_at(mem, address);
	if (inclusive)
		dirty |= expel_nearer(mem, box, b, address);
	if (dirty && down)
		*down += xr_mem_latency(mem, path == &mem->code ? XR_USE_FETCH : XR_USE_READ, level + 1);
	if (!next || !(next->inclusion == XR_EXCLUSIVE || (dirty && next->write_back)))
		return;
	dirty = dirty && next->write_back;
	for (uint64_t a = address; a < address + box->cache->line_bytes; a += next->line_bytes) {
		struct spot spot = {.b = b, .address = a};
		uint64_t set, *line = find_line(mem, core->cache[path->cache[level + 1]], &spot, &set);
		if (!line)
			fill(mem, core, path, level + 1, &spot, set, dirty, NULL);
		else if (dirty)
			*line |= XR_LINE_DIRTY;
	}
}

/* Where is the line? Uses it there, brings it to all nearer levels that take it. Not wanted: somebody guesses that it
 * will be; finding it where it is to go then is no use of it. */
static int bring(struct xr_mem *mem, struct core *core, const struct path *path, struct spot *spot, int nearest,
                 bool wanted, double *down)
{
	int found = path->n;
	bool dirty = false;
	uint64_t set[XR_MACHINE_CACHES];
	assert(nearest <= path->n);
	for (int i = nearest; i < path->n; i++) {
		struct box *box = core->cache[path->cache[i]];
		uint64_t *line = find_line(mem, box, spot, &set[i]);
		if (!line)
			continue;
		if (i == nearest && !wanted)
			return i;
		if (i > nearest && box->cache->inclusion == XR_EXCLUSIVE) {
			dirty = (*line & XR_LINE_DIRTY) != 0;
			xr_array_drop(&box->array, set[i], line);
		} else {
			xr_array_use(&box->array, set[i], line);
		}
		found = i;
		break;
	}
	for (int i = found - 1; i >= nearest; i--)
		if (i == nearest || core->cache[path->cache[i]]->cache->inclusion != XR_EXCLUSIVE)
			fill(mem, core, path, i, spot, set[i], dirty && i == nearest, down);
	return found;
}

static bool is_in(struct xr_mem *mem, struct core *core, const struct path *path, int level, struct spot *spot)
{
	uint64_t set;
	return find_line(mem, core->cache[path->cache[level]], spot, &set) != NULL;
}

/* A store goes down level by level until one keeps it. Returns where the line was found, if it had to be fetched. */
static int store(struct xr_mem *mem, struct core *core, const struct path *path, struct spot *spot, double *down)
{
	int first = -1;
	for (int i = 0; i < path->n; i++) {
		struct box *box = core->cache[path->cache[i]];
		uint64_t set;
		bool takes = box->cache->write_allocate || is_in(mem, core, path, i, spot);
		if (takes) {
			int found = bring(mem, core, path, spot, i, true, down);
			first = first < 0 ? found : first;
		}
		if (takes && box->cache->write_back) {
			uint64_t *line = find_line(mem, box, spot, &set);
			if (line)
				*line |= XR_LINE_DIRTY;
			return first;
		}
		*down += xr_mem_latency(mem, XR_USE_READ, i + 1) - (i ? xr_mem_latency(mem, XR_USE_READ, i) : 0);
	}
	return first < 0 ? 0 : first;
}

/* ---- prefetchers ---- */

static void prefetch(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address, int level)
{
	const struct path *path = &mem->data;
	struct spot spot = {.b = b, .address = address};
	if (address < b->address || address >= b->address + b->bytes)
		return;
	if (level >= path->n)
		level = 0;
	for (int i = 0; i < level; i++)
		if (is_in(mem, core, path, i, &spot))
			return;
	bring(mem, core, path, &spot, level, false, NULL);
}

static void stream_prefetch(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address)
{
	unsigned page_shift = mem->page_shift ? mem->page_shift : 12;
	unsigned line_shift = core->cache[mem->data.cache[mem->data.n > 1]]->line_shift;
	uint64_t page = address >> page_shift, line = address >> line_shift;
	int slot = (int)(mixed(page) % TRACKERS);
	int64_t step = 0;
	if (core->tracker[slot].there && core->tracker[slot].page == page)
		step = line == core->tracker[slot].line + 1 ? 1 : line + 1 == core->tracker[slot].line ? -1 : 0;
	core->tracker[slot].there = true;
	core->tracker[slot].page = page;
	core->tracker[slot].line = line;
	for (int k = 1; step && k <= mem->machine->prefetch_distance; k++) {
		uint64_t next = (line + (uint64_t)(step * k)) << line_shift;
		if (next >> page_shift != page)
			break;
		prefetch(mem, core, b, next, 1);
	}
}

static void run_prefetchers(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address,
                            bool missed)
{
	const struct xr_machine *m = mem->machine;
	if (m->prefetch_adjacent && missed) {
		uint64_t bytes = core->cache[mem->data.cache[mem->data.n > 1]]->cache->line_bytes;
		prefetch(mem, core, b, address ^ bytes, 1);
	}
	if (m->prefetch_stream && missed)
		stream_prefetch(mem, core, b, address);
	if (m->prefetch_stride) {
		int64_t delta = (int64_t)(address - core->last_address);
		if (delta && delta == core->last_delta && llabs(delta) <= STRIDE_MAX)
			prefetch(mem, core, b, address + (uint64_t)delta, 0);
		core->last_delta = delta;
		core->last_address = address;
	}
}

/* ---- the interface ---- */

struct xr_met xr_mem_access(struct xr_mem *mem, int index, struct xr_mem_buffer *b, uint64_t offset, enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	struct core *core = core_of(mem, index);
	uint64_t address = b->address + offset;
	struct spot spot = {.b = b, .address = address};
	struct xr_met met = {0};
	mem->accesses++;
	met.tlb = translate(mem, core, path, b, address, &met.tlb_level);
	if (use == XR_USE_WRITE)
		met.level = store(mem, core, path, &spot, &met.down);
	else
		met.level = bring(mem, core, path, &spot, 0, true, NULL);
	met.latency = xr_mem_latency(mem, use, met.level);
	if (mem->prefetches && use != XR_USE_FETCH)
		run_prefetchers(mem, core, b, address, met.level > 0);
	return met;
}

void xr_mem_interrupt(struct xr_mem *mem, int index, int lines)
{
	struct core *core = core_of(mem, index);
	const struct path *paths[2] = {&mem->data, &mem->code};
	for (int p = 0; p < 2; p++) {
		if (!paths[p]->n || (p && paths[0]->n && paths[0]->cache[0] == paths[1]->cache[0]))
			continue;
		struct xr_array *a = &core->cache[paths[p]->cache[0]]->array;
		for (int i = 0; i < lines; i++) {
			uint64_t set = xr_rng_below(&mem->rng, a->sets);
			uint64_t *line = a->word + set * a->words + xr_rng_below(&mem->rng, a->ways);
			struct xr_victim victim = {true, (*line & XR_LINE_DIRTY) != 0, *line & XR_LINE_KEY};
			if (!(*line & XR_LINE_THERE))
				continue;
			xr_array_drop(a, set, line);
			leave(mem, core, paths[p], 0, &victim, NULL);
		}
	}
}

/* A line that nobody here will ever ask for, in any set. */
static void let_stranger_in(struct xr_mem *mem, struct core *core, int level)
{
	struct box *box = core->cache[mem->data.cache[level]];
	uint64_t key = mem->strangers++ & ((UINT64_C(1) << (SLOT_SHIFT - box->line_shift)) - 1);
	struct xr_victim victim;
	xr_array_put(&box->array, xr_rng_below(&mem->rng, box->array.sets), key, &victim);
	if (victim.there)
		leave(mem, core, &mem->data, level, &victim, NULL);
}

void xr_mem_pass(struct xr_mem *mem, int index, double cycles)
{
	struct core *core = core_of(mem, index);
	double ns = cycles * 1e3 / mem->machine->mhz;
	for (int level = 0; level < mem->data.n; level++) {
		struct box *box = core->cache[mem->data.cache[level]];
		box->due += ns * box->cache->neighbours_gbs / (double)box->cache->line_bytes;
		for (; box->due >= 1; box->due--)
			let_stranger_in(mem, core, level);
	}
}

int xr_mem_levels(const struct xr_mem *mem, enum xr_use use)
{
	return path_of(mem, use)->n;
}

double xr_mem_latency(const struct xr_mem *mem, enum xr_use use, int level)
{
	const struct path *path = path_of(mem, use);
	return level < path->n ? mem->machine->cache[path->cache[level]].latency : mem->machine->memory_latency;
}

uint64_t xr_mem_first_line(const struct xr_mem *mem, enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	return path->n ? mem->machine->cache[path->cache[0]].line_bytes : 64;
}

uint64_t xr_mem_line(const struct xr_mem *mem, enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	return path->n ? mem->machine->cache[path->cache[path->n - 1]].line_bytes : 64;
}

bool xr_mem_throws_out_by_age(const struct xr_mem *mem, enum xr_use use, int level, bool tlb)
{
	const struct path *path = path_of(mem, use);
	int policy = tlb ? (int)mem->machine->tlb[path->tlb[level]].policy
	                 : (int)mem->machine->cache[path->cache[level]].policy;
	return policy == XR_LRU || policy == XR_FIFO;
}

uint64_t xr_mem_accesses(const struct xr_mem *mem)
{
	return mem->accesses;
}

bool xr_mem_holds(struct xr_mem *mem, int core, struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use,
                  int level)
{
	struct spot spot = {.b = buffer, .address = buffer->address + offset};
	return is_in(mem, core_of(mem, core), path_of(mem, use), level, &spot);
}
