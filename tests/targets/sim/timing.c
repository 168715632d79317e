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

static int set_tlb(struct tags *s, const char *value)
{
	char policy[16] = "";
	int penalty = 0;
	uint64_t entries = 0, ways = 1;
	sscanf(value, "%lu:%lu:%d:%15s", &entries, &ways, &penalty, policy);
	memset(s, 0, sizeof *s);
	if (!entries)
		return 0;
	s->ways = ways;
	s->unit = 4096;
	s->sets = entries / ways;
	s->policy = policy_of(policy);
	s->latency = penalty;
	make_tags(s);
	return penalty;
}

int timing_set(struct timing *t, const char *key, const char *value)
{
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
		t->walk_d = set_tlb(&t->dtlb, value);
	else if (!strcmp(key, "itlb"))
		t->walk_i = set_tlb(&t->itlb, value);
	else if (!strcmp(key, "stlb"))
		set_tlb(&t->stlb, value);
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

/* 1: it was there. Afterwards it is. *cost grows where what has to go is dirty. */
static int look_up_to(struct tags *s, uint64_t address, int write, int write_back, int *cost)
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
	if (s->dirty[set * s->ways + victim])
		*cost += write_back;
	s->dirty[set * s->ways + victim] = (uint8_t)write;
	tag[victim] = unit + 1;
	stamp[victim] = s->now;
	if (s->policy == PLRU)
		plru_walk(s, &s->tree[set], victim, 1);
	return 0;
}

static int look_up(struct tags *s, uint64_t address)
{
	int none = 0;
	return look_up_to(s, address, 0, 0, &none);
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

static int access_cost(struct timing *t, struct tags *l1, uint64_t address, int write)
{
	int more = 0;
	if (l1->ways && look_up_to(l1, address, write, t->write_back, &more))
		return l1->latency;
	if (t->l2.ways && look_up(&t->l2, address))
		return more + t->l2.latency;
	if (t->l3.ways && look_up(&t->l3, address))
		return more + t->l3.latency;
	return more + t->memory;
}

/* The latency of a hit in the first cache is hidden by the fetch unit. */
void timing_fetch(struct timing *t, uint64_t pc)
{
	struct tags *cache = t->one_cache ? &t->l1d : &t->l1i, *tlb = t->one_tlb ? &t->dtlb : &t->itlb;
	uint64_t line = cache->ways ? pc / cache->unit : pc / 64;
	t->instructions++;
	t->cycle++;
	if (line == t->fetched)
		return;
	t->fetched = line;
	t->cycle += (uint64_t)translate(t, tlb, t->one_tlb ? t->walk_d : t->walk_i, pc);
	uint64_t cost = (uint64_t)access_cost(t, cache, physical(t, pc), 0);
	if (!cache->ways || cost > (uint64_t)cache->latency)
		t->cycle += cost;
}

void timing_use(struct timing *t, int reg)
{
	if (t->ready[reg] > t->cycle)
		t->cycle = t->ready[reg];
}

/* cycle is that of this instruction's issue. */
void timing_result(struct timing *t, int reg, int cycles)
{
	if (reg)
		t->ready[reg] = t->cycle + (uint64_t)cycles;
}

void timing_load(struct timing *t, uint64_t address, int to)
{
	int cost = translate(t, &t->dtlb, t->walk_d, address) + access_cost(t, &t->l1d, physical(t, address), 0);
	if (t->scoreboard)
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
