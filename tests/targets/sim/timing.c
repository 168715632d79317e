/* SPDX-License-Identifier: MIT */
/* Time: caches, TLBs, and when registers are ready. */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t size_of(const char *text, char **end)
{
	double n = strtod(text, end);
	if (**end == 'K' || **end == 'M') {
		n *= **end == 'K' ? 1024 : 1024 * 1024;
		++*end;
	}
	return (uint64_t)n;
}

static enum policy policy_of(const char *name)
{
	return !strcmp(name, "fifo") ? FIFO : !strcmp(name, "random") ? RANDOM : !strcmp(name, "plru") ? PLRU : LRU;
}

static void make_tags(struct tags *s)
{
	free(s->tag);
	free(s->stamp);
	free(s->tree);
	free(s->dirty);
	s->dirty = calloc(s->sets * s->ways, 1);
	s->tag = calloc(s->sets * s->ways, sizeof *s->tag);
	s->stamp = calloc(s->sets * s->ways, sizeof *s->stamp);
	s->tree = calloc(s->sets, sizeof *s->tree);
	s->random = 0x9E3779B97F4A7C15u;
}

static void set_cache(struct tags *s, const char *value)
{
	char *at, policy[16] = "";
	uint64_t size = size_of(value, &at), ways = 1, line = 64;
	int latency = 1;
	memset(s, 0, sizeof *s);
	if (!size)
		return;
	sscanf(at, ":%lu:%lu:%d:%15s", &ways, &line, &latency, policy);
	s->ways = ways;
	s->unit = line;
	s->sets = size / ways / line;
	s->latency = latency;
	s->policy = policy_of(policy);
	make_tags(s);
}

static int set_tlb(struct tags *s, const char *value, uint64_t page)
{
	char policy[16] = "";
	int penalty = 0;
	uint64_t entries = 0, ways = 1;
	sscanf(value, "%lu:%lu:%d:%15s", &entries, &ways, &penalty, policy);
	memset(s, 0, sizeof *s);
	if (!entries)
		return 0;
	s->ways = ways;
	s->unit = page;
	s->sets = entries / ways;
	s->policy = policy_of(policy);
	s->latency = penalty;
	make_tags(s);
	return penalty;
}

int timing_set(struct timing *t, const char *key, const char *value)
{
	char *end;
	struct {
		const char *key;
		struct tags *cache;
		int *number;
	} const keys[] = {{"l1d", &t->l1d, NULL},
	                  {"l1i", &t->l1i, NULL},
	                  {"l2", &t->l2, NULL},
	                  {"l3", &t->l3, NULL},
	                  {"memory", NULL, &t->memory},
	                  {"mul", NULL, &t->mul},
	                  {"div", NULL, &t->div},
	                  {"fp", NULL, &t->fp},
	                  {"fdiv", NULL, &t->fdiv},
	                  {"taken", NULL, &t->taken},
	                  {"dirty", NULL, &t->write_back},
	                  {"window", NULL, &t->window},
	                  {"width", NULL, &t->width},
	                  {"miss", NULL, &t->miss}};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(key, keys[i].key)) {
			if (keys[i].cache)
				set_cache(keys[i].cache, value);
			else
				*keys[i].number = atoi(value);
			return 0;
		}
	if (!strcmp(key, "dtlb"))
		t->walk_d = set_tlb(&t->dtlb, value, t->page);
	else if (!strcmp(key, "itlb"))
		t->walk_i = set_tlb(&t->itlb, value, t->page);
	else if (!strcmp(key, "stlb"))
		set_tlb(&t->stlb, value, t->page);
	else if (!strcmp(key, "page"))
		t->dtlb.unit = t->itlb.unit = t->stlb.unit = t->page = size_of(value, &end);
	else if (!strcmp(key, "writes"))
		t->through = !strcmp(value, "through");
	else if (!strcmp(key, "fills")) {
		t->inclusive = !strcmp(value, "inclusive");
		t->exclusive = !strcmp(value, "exclusive");
	} else if (!strcmp(key, "ahead"))
		t->next_line = !strcmp(value, "yes");
	else if (!strcmp(key, "fetch"))
		t->each = !strcmp(value, "each");
	else if (!strcmp(key, "speed"))
		t->speed = strtod(value, NULL);
	else if (!strcmp(key, "mode"))
		t->scoreboard = !strcmp(value, "scoreboard");
	else if (!strcmp(key, "pages"))
		t->shuffled = !strcmp(value, "shuffled");
	else if (!strcmp(key, "unified")) {
		t->one_cache = strcmp(value, "tlb") != 0;
		t->one_tlb = strcmp(value, "caches") != 0;
	} else if (!strcmp(key, "stores"))
		t->stall = !strcmp(value, "stall");
	else if (!strcmp(key, "walk"))
		t->walk_loads = !strcmp(value, "caches");
	else if (!strcmp(key, "clock"))
		t->clock = !strcmp(value, "us")        ? CLOCK_US
		           : !strcmp(value, "day")     ? CLOCK_DAY
		           : !strcmp(value, "counter") ? CLOCK_COUNTER
		           : !strcmp(value, "wall")    ? CLOCK_WALL
		                                       : CLOCK_FINE;
	else if (!strcmp(key, "hz"))
		t->hz = strtod(value, NULL);
	else
		return -1;
	return 0;
}

static uint64_t next_random(struct tags *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	return s->random ^= s->random << 17;
}

/* The tree of a set has ways - 1 inner nodes, left and right halves as even as can be; each points away from the
 * last use. */
static uint64_t plru_walk(struct tags *s, uint32_t *tree, uint64_t used, int touch)
{
	uint64_t low = 0, high = s->ways, node = 1;
	while (high - low > 1) {
		uint64_t middle = low + (high - low + 1) / 2;
		int right = touch ? used >= middle : (int)(*tree >> node & 1);
		if (touch)
			*tree = right ? *tree & ~(1u << node) : *tree | 1u << node;
		if (right)
			low = middle;
		else
			high = middle;
		node = 2 * node + (uint64_t)right;
	}
	return low;
}

/* What a look left behind: the address of what had to go, and whether it was dirty. */
struct gone {
	uint64_t address;
	int some, dirty;
};

/* 1: it was there. Afterwards it is. */
static int look_up_to(struct tags *s, uint64_t address, int write, struct gone *gone)
{
	uint64_t unit = address / s->unit, set = unit % s->sets, *tag = s->tag + set * s->ways;
	uint64_t *stamp = s->stamp + set * s->ways, victim = 0;
	s->now++;
	for (uint64_t way = 0; way < s->ways; way++)
		if (tag[way] == unit + 1) {
			if (s->policy == LRU)
				stamp[way] = s->now;
			if (s->policy == PLRU)
				plru_walk(s, &s->tree[set], way, 1);
			s->dirty[set * s->ways + way] |= (uint8_t)write;
			return 1;
		}
	if (s->policy == RANDOM)
		victim = next_random(s) % s->ways;
	else if (s->policy == PLRU)
		victim = plru_walk(s, &s->tree[set], 0, 0);
	else
		for (uint64_t way = 1; way < s->ways; way++)
			if (stamp[way] < stamp[victim])
				victim = way;
	for (uint64_t way = 0; way < s->ways; way++)
		if (!tag[way]) {
			victim = way;
			break;
		}
	gone->some = tag[victim] != 0;
	gone->address = (tag[victim] - 1) * s->unit;
	gone->dirty = s->dirty[set * s->ways + victim];
	s->dirty[set * s->ways + victim] = (uint8_t)write;
	tag[victim] = unit + 1;
	stamp[victim] = s->now;
	if (s->policy == PLRU)
		plru_walk(s, &s->tree[set], victim, 1);
	return 0;
}

static int look_up(struct tags *s, uint64_t address)
{
	struct gone none;
	return look_up_to(s, address, 0, &none);
}

static int is_there(const struct tags *s, uint64_t address)
{
	uint64_t unit = address / s->unit, set = unit % s->sets;
	for (uint64_t way = 0; way < s->ways; way++)
		if (s->tag[set * s->ways + way] == unit + 1)
			return 1;
	return 0;
}

static void take_out(struct tags *s, uint64_t address)
{
	uint64_t unit = address / s->unit, set = unit % s->sets;
	for (uint64_t way = 0; way < s->ways; way++)
		if (s->tag[set * s->ways + way] == unit + 1)
			s->tag[set * s->ways + way] = 0;
}

static int access_cost(struct timing *t, struct tags *l1, uint64_t address, int write);

/* Three levels of tables, at the end of the space, each entry of 8 bytes. */
static int walk_tables(struct timing *t, uint64_t address)
{
	static const uint64_t table[] = {UINT64_C(0x1F0000000), UINT64_C(0x1F1000000), UINT64_C(0x1F2000000)};
	int cost = 0;
	for (int level = 0; level < 3; level++)
		cost += access_cost(t, &t->l1d, table[level] + (address >> (30 - 9 * level)) * 8, 0);
	return cost;
}

static int translate(struct timing *t, struct tags *first, int walk, uint64_t address)
{
	if (!first->ways || look_up(first, address))
		return 0;
	if (t->stlb.ways && look_up(&t->stlb, address))
		return t->stlb.latency;
	return t->walk_loads ? walk_tables(t, address) : walk;
}

/* A permutation of pages that keeps them within the space, so that physical addresses say nothing of virtual ones. */
static uint64_t physical(const struct timing *t, uint64_t address)
{
	uint64_t page = address >> 12, mask = (1u << 20) - 1;
	if (!t->shuffled)
		return address;
	for (int i = 0; i < 3; i++) {
		page = (page * 0x9E3779B1u + 0x7F4A7C15u) & mask;
		page ^= page >> 9;
	}
	return page << 12 | (address & 4095);
}

/* Behind the first caches. */
static int access_behind(struct timing *t, uint64_t address)
{
	struct gone gone = {0};
	if (t->l2.ways && t->exclusive) { /* a line moves up, and what it replaces moves down */
		if (is_there(&t->l2, address)) {
			take_out(&t->l2, address);
			return t->l2.latency;
		}
	} else if (t->l2.ways && look_up_to(&t->l2, address, 0, &gone)) {
		return t->l2.latency;
	}
	for (uint64_t at = 0; t->inclusive && gone.some && at < t->l2.unit; at += 16) {
		if (t->l1d.ways)
			take_out(&t->l1d, gone.address + at);
		if (t->l1i.ways)
			take_out(&t->l1i, gone.address + at);
	}
	if (t->l3.ways && look_up(&t->l3, address))
		return t->l3.latency;
	return t->memory;
}

static int access_cost(struct timing *t, struct tags *l1, uint64_t address, int write)
{
	struct gone gone = {0};
	if (!l1->ways)
		return access_behind(t, address);
	if (write && t->through) {
		int there = is_there(l1, address);
		if (there)
			look_up(l1, address);
		return there ? l1->latency : access_behind(t, address);
	}
	if (look_up_to(l1, address, write, &gone))
		return l1->latency;
	int cost = access_behind(t, address) + (gone.dirty ? t->write_back : 0);
	if (t->exclusive && gone.some && t->l2.ways)
		look_up(&t->l2, gone.address);
	if (t->next_line && l1 == &t->l1d && !is_there(l1, address + l1->unit)) {
		access_behind(t, address + l1->unit);
		look_up(l1, address + l1->unit);
	}
	return cost;
}

/* Out of order: what is fetched now waits until the one that is `window` before it is done, and all before that. */
static void wait_for_window(struct timing *t)
{
	if (!t->window)
		return;
	uint64_t *slot = &t->done[t->instructions % (uint64_t)t->window];
	if (*slot > t->retired)
		t->retired = *slot;
	if (t->retired > t->cycle)
		t->cycle = t->retired;
	*slot = t->start = 0;
}

/* Everything before is done. */
void timing_drain(struct timing *t)
{
	for (int i = 0; i < t->window; i++)
		if (t->done[i] > t->cycle)
			t->cycle = t->done[i];
}

/* The latency of a hit in the first cache is hidden by the fetch unit. */
void timing_fetch(struct timing *t, uint64_t pc)
{
	struct tags *cache = t->one_cache ? &t->l1d : &t->l1i, *tlb = t->one_tlb ? &t->dtlb : &t->itlb;
	uint64_t line = cache->ways ? pc / cache->unit : pc / 64;
	t->instructions++;
	if (!t->window || t->instructions % (uint64_t)t->width == 0)
		t->cycle++;
	wait_for_window(t);
	if (line == t->fetched && !t->each)
		return;
	t->fetched = line;
	t->cycle += (uint64_t)translate(t, tlb, t->one_tlb ? t->walk_d : t->walk_i, pc);
	uint64_t cost = (uint64_t)access_cost(t, cache, physical(t, pc), 0);
	if (!cache->ways || cost > (uint64_t)cache->latency)
		t->cycle += cost;
}

void timing_use(struct timing *t, int reg)
{
	if (t->window && t->ready[reg] > t->start)
		t->start = t->ready[reg];
	else if (!t->window && t->ready[reg] > t->cycle)
		t->cycle = t->ready[reg];
}

/* cycle is that of this instruction's issue. */
void timing_result(struct timing *t, int reg, int cycles)
{
	uint64_t from = t->start > t->cycle ? t->start : t->cycle;
	if (reg)
		t->ready[reg] = from + (uint64_t)cycles;
	if (t->window)
		t->done[t->instructions % (uint64_t)t->window] = from + (uint64_t)cycles;
}

void timing_load(struct timing *t, uint64_t address, int to)
{
	int cost = translate(t, &t->dtlb, t->walk_d, address) + access_cost(t, &t->l1d, physical(t, address), 0);
	if (t->scoreboard || t->window)
		timing_result(t, to, cost);
	else
		t->cycle += (uint64_t)cost - 1;
}

void timing_store(struct timing *t, uint64_t address)
{
	int cost = translate(t, &t->dtlb, t->walk_d, address);
	cost += access_cost(t, &t->l1d, physical(t, address), 1);
	if (t->stall)
		t->cycle += (uint64_t)cost - 1;
}

void timing_branch(struct timing *t, uint64_t pc, int taken)
{
	uint8_t *counter = &t->predictor[pc / 2 % sizeof t->predictor];
	if (t->miss && (*counter >= 2) != taken)
		t->cycle += (uint64_t)t->miss;
	if (taken && *counter < 3)
		++*counter;
	if (!taken && *counter)
		--*counter;
}
