/* SPDX-License-Identifier: MIT */
/* Caches of a simulated machine: where lines are, and what happens when one is asked for. */
#include "target/model/mem_inside.h"

#include "util/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_LINES = 16384 }; /* with 8 bytes each and some for each set they fill a part of its second cache */

static const struct path *path_of(const struct xr_mem *mem, enum xr_use use)
{
	return use == XR_USE_FETCH ? &mem->code : &mem->data;
}

static void add_cache(struct path *path, const struct xr_machine_cache *cache, int index)
{
	path->cache[path->n++] = index;
	if (xr_machine_sets(cache) * xr_machine_ways(cache) >= FAR_LINES)
		path->far[path->n_far++] = index;
}

static void add_tlbs(const struct xr_mem *mem, struct path *path, int holds)
{
	const struct xr_machine *m = mem->machine;
	for (int i = 0; i < m->n_tlbs && m->page_bytes; i++) {
		if (!(m->tlb[i].holds & holds))
			continue;
		if (m->tlb[i].pages != XR_PAGES_HUGE)
			path->tlb[0][path->n_tlbs[0]++] = i;
		if (m->tlb[i].pages != XR_PAGES_SMALL)
			path->tlb[1][path->n_tlbs[1]++] = i;
	}
}

static void make_map(struct map *map, const struct xr_machine_cache *c)
{
	const uint64_t sets = xr_machine_sets(c);
	map->how = c->hash           ? MAP_HASH
	           : c->index_bits.n ? MAP_LINEAR
	           : c->slices       ? MAP_SLICES
	           : c->modulo       ? MAP_MODULO
	                             : MAP_PLAIN;
	if (map->how == MAP_LINEAR)
		xr_index_table_init(&map->linear, &c->index_bits);
	if (c->slices)
		map->slice_sets = sets / (uint64_t)c->slices;
	map->slice_known = c->slice_bits.n > 0;
	if (map->slice_known)
		xr_index_table_init(&map->slice, &c->slice_bits);
	if (c->way_bits.n)
		xr_index_table_init(&map->way, &c->way_bits);
}

struct xr_mem *xr_mem_new(const struct xr_machine *machine, uint64_t seed)
{
	struct xr_mem *mem = xr_calloc(1, sizeof *mem);
	mem->machine = machine;
	mem->rng.state = seed;
	mem->place_key = xr_rng_next(&mem->rng);
	mem->page_shift = log2_of(machine->page_bytes);
	mem->huge_shift = log2_of(machine->huge_bytes);
	mem->host_shift = log2_of(machine->host_bytes);
	for (int i = 0; i < machine->n_caches; i++) {
		if (machine->cache[i].holds & XR_HOLDS_DATA)
			add_cache(&mem->data, &machine->cache[i], i);
		if (machine->cache[i].holds & XR_HOLDS_CODE)
			add_cache(&mem->code, &machine->cache[i], i);
	}
	add_tlbs(mem, &mem->data, XR_HOLDS_DATA);
	add_tlbs(mem, &mem->code, XR_HOLDS_CODE);
	mem->prefetches = mem->data.n && (machine->prefetch_adjacent || machine->prefetch_stream ||
	                                  machine->prefetch_stride || machine->prefetch_temporal);
	if (mem->data.n)
		mem->adjacent_bytes = machine->cache[mem->data.cache[mem->data.n > 1]].line_bytes;
	mem->successors_mask = 3; /* at least the places of one line */
	while (mem->successors_mask + 1 < machine->prefetch_temporal)
		mem->successors_mask = 2 * mem->successors_mask + 1;
	if (mem->host_shift)
		mem->host_frame = xr_calloc(HOST_FRAMES, sizeof *mem->host_frame);
	mem->core = xr_calloc((size_t)machine->cores, sizeof *mem->core);
	mem->map = xr_calloc((size_t)machine->n_caches, sizeof *mem->map);
	for (int i = 0; i < machine->n_caches; i++)
		make_map(&mem->map[i], &machine->cache[i]);
	for (int i = 0; i < mem->data.n; i++)
		if (!strcmp(machine->cache[mem->data.cache[i]].name, machine->walk_tables)) {
			mem->tables_level = i;
			xr_mem_add_tables(mem);
		}
	return mem;
}

struct xr_mem *xr_mem_new_over(const struct xr_machine *machine, struct xr_mem *under, uint64_t seed)
{
	struct xr_mem *mem = xr_mem_new(machine, seed);
	mem->under = under;
	mem->place_key = under->place_key;
	return mem;
}

void xr_mem_free(struct xr_mem *mem)
{
	if (!mem)
		return;
	for (size_t i = 0; i < mem->n_boxes; i++) {
		xr_array_release(&mem->boxes[i]->array);
		free(mem->boxes[i]->twin);
		free(mem->boxes[i]);
	}
	free(mem->boxes);
	for (int c = 0; c < mem->machine->cores; c++) {
		xr_mem_free_tlbs(mem, &mem->core[c]);
		free(mem->core[c].successor);
	}
	free(mem->core);
	free(mem->map);
	free(mem->host_frame);
	for (uint64_t i = 0; i < mem->n_buffers; i++) {
		if (!mem->buffer[i]->same)
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
	box->map = &mem->map[index];
	box->physical = cache->index == XR_PHYSICAL;
	box->plain = box->map->how == MAP_PLAIN;
	box->exclusive = cache->inclusion == XR_EXCLUSIVE;
	box->inclusive = cache->inclusion == XR_INCLUSIVE;
	box->predicts = cache->way_bits.n > 0;
	xr_array_init(&box->array, xr_machine_sets(cache), xr_machine_ways(cache), cache->policy, &mem->rng);
	if (cache->rival)
		xr_array_adapt(&box->array, cache->rival, (uint32_t)cache->leaders);
	if (cache->way_bits.n && !xr_policy_by_age(cache->policy))
		box->twin = xr_calloc((size_t)box->array.sets * box->array.ways, sizeof *box->twin);
	mem->boxes = xr_realloc(mem->boxes, mem->n_boxes + 1, sizeof(struct box *));
	mem->boxes[mem->n_boxes++] = box;
	return box;
}

static void make_core(struct xr_mem *mem, struct core *core, int index)
{
	core->there = true;
	for (int i = 0; i < mem->machine->n_caches; i++)
		core->cache[i] = box_of(mem, i, index / mem->machine->cache[i].shared_by);
	xr_mem_make_tlbs(mem, core);
}

static inline struct core *core_of(struct xr_mem *mem, int index)
{
	struct core *core = &mem->core[index];
	if (!core->there)
		make_core(mem, core, index);
	return core;
}

/* ---- caches ---- */

static bool is_strange(uint64_t address)
{
	return address >> SLOT_SHIFT == 0;
}

/* Where the set is no plain part of the line's number. */
static uint64_t mapped(const struct box *box, uint64_t address)
{
	const struct map *map = box->map;
	const uint64_t sets = box->array.sets, line = address >> box->line_shift;
	uint64_t slice;
	switch (map->how) {
	case MAP_HASH:
		return (mixed(line) >> 32) * sets >> 32;
	case MAP_LINEAR:
		return xr_index_look(&map->linear, address);
	case MAP_MODULO:
		return line % sets;
	case MAP_SLICES:
		slice = map->slice_known ? xr_index_look(&map->slice, address)
		                         : (mixed(line) >> 32) * (uint64_t)box->cache->slices >> 32;
		return slice * map->slice_sets + line % map->slice_sets;
	default:
		return line & (sets - 1);
	}
}

/* The set of a line, by the address that the cache is indexed with. */
static inline uint64_t indexed(const struct box *box, uint64_t address)
{
	return box->plain ? address >> box->line_shift & (box->array.sets - 1) : mapped(box, address);
}

static inline uint64_t set_of(struct xr_mem *mem, const struct box *box, struct spot *spot)
{
	uint64_t address = spot->address;
	if (box->array.sets == 1)
		return 0;
	if (box->physical) {
		if (!spot->known)
			spot->physical = xr_mem_physical(mem, spot->b, address);
		spot->known = true;
		address = spot->physical;
	}
	return indexed(box, address);
}

static inline uint64_t *find_line(struct xr_mem *mem, const struct box *box, struct spot *spot, uint64_t *set)
{
	*set = set_of(mem, box, spot);
	return xr_array_find(&box->array, *set, spot->address >> box->line_shift);
}

static void leave(struct xr_mem *mem, struct core *core, const struct path *path, int level,
                  const struct xr_victim *victim, double *down);

/* Does a line that leaves a level concern anybody else? */
static inline bool concerns(const struct core *core, const struct path *path, int level, const struct xr_victim *victim)
{
	return victim->dirty || core->cache[path->cache[level]]->inclusive ||
	       (level + 1 < path->n && core->cache[path->cache[level + 1]]->exclusive);
}

/* Of a line that is there, the tag that a way predictor knows it by. */
static inline uint32_t tag_in(const struct box *box, const uint64_t *line)
{
	return box->twin ? box->twin[line - box->array.word]
	                 : xr_index_look(&box->map->way, (*line & XR_LINE_KEY) << box->line_shift);
}

/* A way predictor knows lines by a tag: of two in one set with the same, the newer pushes the older out. */
static void push_twin_out(struct xr_mem *mem, struct core *core, const struct path *path, int level, uint64_t address,
                          uint64_t set, double *down)
{
	struct box *box = core->cache[path->cache[level]];
	const uint32_t tag = xr_index_look(&box->map->way, address);
	uint64_t *line = box->array.word + set * box->array.ways;
	for (uint32_t w = 0; w < box->array.ways; w++, line++) {
		if (!(*line & XR_LINE_THERE) || tag_in(box, line) != tag)
			continue;
		const struct xr_victim twin = {true, (*line & XR_LINE_DIRTY) != 0, *line & XR_LINE_KEY};
		xr_array_drop(&box->array, set, line);
		if (concerns(core, path, level, &twin))
			leave(mem, core, path, level, &twin, down);
		return;
	}
}

/* Puts a line into a set where it is not. */
static void fill(struct xr_mem *mem, struct core *core, const struct path *path, int level, const struct spot *spot,
                 uint64_t set, bool dirty, double *down)
{
	struct box *box = core->cache[path->cache[level]];
	struct xr_victim victim;
	if (box->predicts)
		push_twin_out(mem, core, path, level, spot->address, set, down);
	uint64_t *line = xr_array_put(&box->array, set, spot->address >> box->line_shift, &victim);
	if (box->twin)
		box->twin[line - box->array.word] = xr_index_look(&box->map->way, spot->address);
	if (dirty)
		*line |= XR_LINE_DIRTY;
	if (victim.there && concerns(core, path, level, &victim))
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
	struct box *next = level + 1 < path->n ? core->cache[path->cache[level + 1]] : NULL;
	bool dirty = victim->dirty;
	uint64_t address = victim->key << box->line_shift;
	if (is_strange(address))
		return;
	struct xr_mem_buffer *b = buffer_at(mem, address);
	if (box->inclusive)
		dirty |= expel_nearer(mem, box, b, address);
	if (dirty && down)
		*down += xr_mem_latency(mem, path == &mem->code ? XR_USE_FETCH : XR_USE_READ, level + 1);
	if (!next || !(next->exclusive || (dirty && next->cache->write_back)))
		return;
	dirty = dirty && next->cache->write_back;
	for (uint64_t a = address; a < address + box->cache->line_bytes; a += next->cache->line_bytes) {
		struct spot spot = {.b = b, .address = a};
		uint64_t set, *line = find_line(mem, next, &spot, &set);
		if (!line)
			fill(mem, core, path, level + 1, &spot, set, dirty, NULL);
		else if (dirty)
			*line |= XR_LINE_DIRTY;
	}
}

/* Where is the line? Uses it there, brings it to all nearer levels that take it. */
int xr_mem_bring(struct xr_mem *mem, struct core *core, const struct path *path, struct spot *spot, int nearest,
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
		if (i > nearest && box->exclusive) {
			dirty = (*line & XR_LINE_DIRTY) != 0;
			xr_array_drop(&box->array, set[i], line);
		} else {
			xr_array_use(&box->array, set[i], line);
		}
		found = i;
		break;
	}
	for (int i = found - 1; i >= nearest; i--)
		if (i == nearest || !core->cache[path->cache[i]]->exclusive)
			fill(mem, core, path, i, spot, set[i], dirty && i == nearest, down);
	return found;
}

bool xr_mem_is_in(struct xr_mem *mem, struct core *core, const struct path *path, int level, struct spot *spot)
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
		bool takes = box->cache->write_allocate || xr_mem_is_in(mem, core, path, i, spot);
		if (takes) {
			int found = xr_mem_bring(mem, core, path, spot, i, true, down);
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

/* ---- the interface ---- */

/* What a miss costs more in the set that was just looked at. */
static double same_set(struct xr_mem *mem, struct core *core, struct spot *spot, bool missed)
{
	const struct box *box = core->cache[mem->data.cache[0]];
	const uint64_t set = set_of(mem, box, spot) + 1, last = core->last_set;
	core->last_set = set;
	return missed && set == last ? box->cache->same_set_cycles : 0;
}

struct xr_met xr_mem_access(struct xr_mem *mem, int index, struct xr_mem_buffer *b, uint64_t offset, enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	struct core *core = core_of(mem, index);
	uint64_t address = b->address + offset;
	struct spot spot = {.b = b, .address = address};
	struct xr_met met = {0};
	mem->accesses++;
	if (path->n_tlbs[0] + path->n_tlbs[1] && b->frame)
		xr_mem_translate(mem, core, path, b, address, &met);
	if (use == XR_USE_WRITE)
		met.level = store(mem, core, path, &spot, &met.down);
	else
		met.level = xr_mem_bring(mem, core, path, &spot, 0, true, NULL);
	met.latency = xr_mem_latency(mem, use, met.level);
	if (use == XR_USE_FETCH && met.level > 0 && mem->machine->prefetch_code_lines && path->n)
		xr_mem_fetch_along(mem, core, b, address);
	if (use != XR_USE_FETCH && path->n && core->cache[path->cache[0]]->cache->same_set_cycles > 0)
		met.latency += same_set(mem, core, &spot, met.level > 0);
	if (mem->prefetches && use != XR_USE_FETCH)
		xr_mem_run_prefetchers(mem, core, b, address, met.level > 0);
	return met;
}

static inline void expect_line(const struct core *core, const struct path *path, uint64_t address, uint64_t physical,
                               bool known)
{
	for (int i = 0; i < path->n_far; i++) {
		const struct box *box = core->cache[path->far[i]];
		if (known || !box->physical)
			xr_array_expect(&box->array, indexed(box, box->physical ? physical : address));
	}
}

bool xr_mem_is_far(const struct xr_mem *mem, enum xr_use use)
{
	return path_of(mem, use)->n_far > 0;
}

void xr_mem_expect(const struct xr_mem *mem, int index, const struct xr_mem_buffer *b, uint64_t offset, enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	const struct core *core = &mem->core[index];
	const uint64_t address = b->address + offset;
	uint64_t physical = 0;
	const bool known = xr_mem_physical_known(mem, b, address, &physical);
	if (!core->there)
		return;
	expect_line(core, path, address, physical, known);
	if (mem->prefetches && mem->machine->prefetch_adjacent && path == &mem->data)
		expect_line(core, path, address ^ mem->adjacent_bytes, physical ^ mem->adjacent_bytes, known);
}

struct xr_met xr_mem_translation(struct xr_mem *mem, int index, struct xr_mem_buffer *b, uint64_t offset,
                                 enum xr_use use)
{
	const struct path *path = path_of(mem, use);
	struct xr_met met = {0};
	if (path->n_tlbs[0] + path->n_tlbs[1] && b->frame)
		xr_mem_translate(mem, core_of(mem, index), path, b, b->address + offset, &met);
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
			uint64_t *line = a->word + set * a->ways + xr_rng_below(&mem->rng, a->ways);
			struct xr_victim victim = {true, (*line & XR_LINE_DIRTY) != 0, *line & XR_LINE_KEY};
			if (!(*line & XR_LINE_THERE))
				continue;
			xr_array_drop(a, set, line);
			if (concerns(core, paths[p], 0, &victim))
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
	if (victim.there && concerns(core, &mem->data, level, &victim))
		leave(mem, core, &mem->data, level, &victim, NULL);
	struct xr_rng next = mem->rng; /* the next one goes there, unless chance is asked for something else before */
	xr_array_expect(&box->array, xr_rng_below(&next, box->array.sets));
}

void xr_mem_pass(struct xr_mem *mem, int index, double cycles)
{
	struct core *core = core_of(mem, index);
	double ns = cycles * 1e3 / mem->machine->mhz;
	for (int level = 0; level < mem->data.n; level++) {
		struct box *box = core->cache[mem->data.cache[level]];
		if (!(box->cache->neighbours_gbs > 0))
			continue;
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
	return xr_policy_by_age(tlb ? mem->machine->tlb[path->tlb[0][level]].policy
	                            : mem->machine->cache[path->cache[level]].policy);
}

uint64_t xr_mem_accesses(const struct xr_mem *mem)
{
	return mem->accesses;
}

bool xr_mem_holds(struct xr_mem *mem, int core, struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use,
                  int level)
{
	struct spot spot = {.b = buffer, .address = buffer->address + offset};
	return xr_mem_is_in(mem, core_of(mem, core), path_of(mem, use), level, &spot);
}
