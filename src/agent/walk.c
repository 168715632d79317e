/* SPDX-License-Identifier: MIT */
/* Code walks: copies of one compiled block (agent/copies.h), visited by jumps in an order of our choice.
 *
 * A fixed order is walked by direct jumps where these can be written (agent/direct.h), else by the same blocks.
 */
#include "walk.h"

#include "copies.h"
#include "direct.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_LEAST = 32768,   /* visits before an order comes again: more than any predictor of jumps remembers */
	LIST_EXACT = 4096,    /* the same where every instruction is simulated; */
	PATTERN_EXACT = 1024, /* of one order: so short that the list itself stays in the first cache */
	STRAIGHT_LEAST = 256, /* the same for pieces, only to make calls of run() rare */
	LAPS = 4,             /* permutations in a list at least */
	DATA_STEP = 32,       /* bytes: no line of today is shorter */
};

static const uint64_t blocks_most = UINT64_C(1) << 20;

enum walk_kind { JUMPS, PATTERN, STRAIGHT };

struct xr_agent_walk {
	enum walk_kind kind;
	const struct xr_copies *region;
	uint32_t *list; /* offsets to visit, one after the other; room for one more at the end */
	size_t length, at;
	struct xr_agent_direct *direct; /* NULL: the list */
	size_t blocks;                  /* different ones */
	size_t data_bytes;              /* read after each lap */
};

static int exact;
static unsigned char *data; /* that all walks with data read */
static size_t data_room;

#if XR_CAN_COPY_CODE

/* ---- orders ---------------------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void shuffle(uint32_t *x, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)((next_random(state) >> 32) * i >> 32);
		uint32_t t = x[i - 1];
		x[i - 1] = x[j];
		x[j] = t;
	}
}

/* Laps one after the other: the same order again (pattern, straight), or a fresh one every time (jumps). */
static int make_list(struct xr_agent_walk *walk, const uint32_t *blocks, uint64_t seed)
{
	size_t n = walk->blocks;
	size_t least = walk->kind == STRAIGHT ? STRAIGHT_LEAST : exact ? LIST_EXACT : LIST_LEAST;
	if (exact && walk->kind == PATTERN)
		least = PATTERN_EXACT;
	size_t laps = (least + n - 1) / n > LAPS ? (least + n - 1) / n : LAPS;
	uint64_t state = seed;

	walk->length = laps * n;
	walk->list = malloc((walk->length + 1) * sizeof *walk->list);
	if (!walk->list)
		return -1;
	walk->list[walk->length] = 0;
	for (size_t lap = 0; lap < laps; lap++) {
		uint32_t *here = walk->list + lap * n;
		if (lap == 0 || walk->kind == JUMPS) {
			memcpy(here, blocks, n * sizeof *here);
			if (walk->kind != STRAIGHT)
				shuffle(here, n, &state);
		} else {
			memcpy(here, walk->list, n * sizeof *here);
		}
	}
	return 0;
}

struct span {
	uint64_t base, stride, count;
};

static uint32_t *list_blocks(const struct xr_copies *region, const struct span *span, size_t n_spans, size_t *n,
                             char *error, size_t error_size)
{
	uint64_t total = 0;
	for (size_t i = 0; i < n_spans; i++)
		total += span[i].count <= blocks_most ? span[i].count : blocks_most + 1;
	if (total == 0 || total > blocks_most) {
		snprintf(error, error_size, "%" PRIu64 " blocks of code to visit", total);
		return NULL;
	}
	uint32_t *blocks = malloc((size_t)total * sizeof *blocks);
	if (!blocks) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	*n = 0;
	for (size_t i = 0; i < n_spans; i++) {
		for (uint64_t k = 0; k < span[i].count; k++) {
			uint64_t at = span[i].base + k * span[i].stride;
			if (at % region->grid != 0 || at + region->grid > region->bytes || at >= region->bytes) {
				snprintf(error, error_size,
				         "no block at byte %" PRIu64 " of a region of %" PRIu64 ", one every %u", at,
				         region->bytes, (unsigned)region->grid);
				free(blocks);
				return NULL;
			}
			blocks[(*n)++] = (uint32_t)at + XR_COPIES_ENTRY;
		}
	}
	return blocks;
}

/* Pieces lie back to back from the start: as many as come nearest to the bytes wanted. */
static uint32_t *list_pieces(const struct xr_copies *region, const struct span *span, size_t n_spans, size_t *n,
                             char *error, size_t error_size)
{
	uint64_t wanted = n_spans == 1 && span[0].count <= region->bytes && span[0].stride <= region->bytes
	                          ? span[0].count * span[0].stride
	                          : 0;
	uint64_t room = region->bytes / region->grid;
	uint64_t pieces = (wanted + region->grid / 2) / region->grid;
	if (pieces == 0)
		pieces = 1;
	if (wanted == 0 || pieces > room || pieces > blocks_most) {
		snprintf(error, error_size, "%" PRIu64 " bytes of straight code in a region of %" PRIu64, wanted,
		         region->bytes);
		return NULL;
	}
	uint32_t *blocks = malloc((size_t)pieces * sizeof *blocks);
	if (!blocks) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	for (uint64_t k = 0; k < pieces; k++)
		blocks[k] = (uint32_t)(k * region->grid) + XR_COPIES_ENTRY;
	*n = (size_t)pieces;
	return blocks;
}

/* ---- walks ----------------------------------------------------------------------------------------------------- */

static int parse_number(const char *word, uint64_t *value)
{
	const char *at = word;
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + (uint64_t)(*at - '0');
	return at != word && !*at && at - word <= 20 ? 0 : -1;
}

/* What the words say. */
struct asked {
	uint64_t region, bytes, seed, n_spans;
	uint64_t statements, data_bytes;
	struct span *span;
};

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* A block that comes twice has two successors, which a direct jump cannot have. */
static int comes_twice(const uint32_t *list, size_t n)
{
	uint32_t *sorted = malloc((n + 1) * sizeof *sorted);
	int twice = !sorted;
	if (sorted) {
		memcpy(sorted, list, n * sizeof *sorted);
		qsort(sorted, n, sizeof *sorted, by_number);
	}
	for (size_t i = 0; !twice && i + 1 < n; i++)
		twice = sorted[i] == sorted[i + 1];
	free(sorted);
	return twice;
}

/* A fixed order by direct jumps, in memory of its own. NULL: it has to be walked by the list. */
static struct xr_agent_walk *make_direct(const struct asked *asked)
{
	static const struct xr_copies grid = {.grid = XR_DIRECT_GRID};
	struct xr_copies here = grid;
	char error[200];
	struct xr_agent_walk *walk = NULL;
	uint64_t state = asked->seed;
	size_t n = 0;

	here.bytes = asked->bytes;
	if (asked->statements || asked->data_bytes || !asked->bytes || asked->bytes > XR_COPIES_MOST || exact)
		return NULL; /* where every instruction is simulated, new code for each walk costs more than it tells */
	uint32_t *blocks = list_blocks(&here, asked->span, (size_t)asked->n_spans, &n, error, sizeof error);
	for (size_t i = 0; blocks && i < n; i++)
		blocks[i] -= XR_COPIES_ENTRY;
	if (blocks && !comes_twice(blocks, n))
		walk = calloc(1, sizeof *walk);
	if (walk) {
		shuffle(blocks, n, &state);
		walk->kind = PATTERN;
		walk->blocks = n;
		walk->direct = xr_direct_make(asked->bytes, blocks, n);
	}
	free(blocks);
	if (walk && !walk->direct) {
		free(walk);
		walk = NULL;
	}
	return walk;
}

static struct xr_agent_walk *make(enum walk_kind kind, const struct asked *asked, char *error, size_t error_size)
{
	struct xr_agent_walk *walk = kind == PATTERN ? make_direct(asked) : NULL;
	if (walk)
		return walk;
	struct xr_copies *region = xr_copies_find((unsigned)asked->region, asked->bytes, kind == STRAIGHT,
	                                          asked->statements, exact, error, error_size);
	if (!region)
		return NULL;
	walk = calloc(1, sizeof *walk);
	if (!walk) {
		snprintf(error, error_size, "out of memory");
		return NULL;
	}
	walk->kind = kind;
	walk->region = region;
	uint32_t *blocks = (kind == STRAIGHT ? list_pieces : list_blocks)(region, asked->span, (size_t)asked->n_spans,
	                                                                  &walk->blocks, error, error_size);
	if (blocks)
		xr_copies_need(region, blocks, walk->blocks);
	if (!blocks || make_list(walk, blocks, asked->seed) != 0) {
		if (blocks)
			snprintf(error, error_size, "out of memory");
		free(blocks);
		xr_walk_free(walk);
		return NULL;
	}
	free(blocks);
	return walk;
}

/* One buffer serves all: only that it is read matters. */
static int keep_data(struct xr_agent_walk *walk, uint64_t bytes, char *error, size_t error_size)
{
	if (bytes > data_room) {
		unsigned char *grown = bytes <= XR_COPIES_MOST ? realloc(data, (size_t)bytes) : NULL;
		if (!grown) {
			snprintf(error, error_size, "no memory for %" PRIu64 " bytes of data", bytes);
			return -1;
		}
		memset(grown, 1, (size_t)bytes); /* pages of its own, not the one page of zeros */
		data = grown;
		data_room = (size_t)bytes;
	}
	walk->data_bytes = (size_t)bytes;
	return 0;
}

/* Words that may come after the spans, each with its number. */
static int take_last(char **words, int *n_words, const char *word, uint64_t *value)
{
	if (*n_words < 8 || strcmp(words[*n_words - 2], word) != 0)
		return 0;
	*n_words -= 2;
	return parse_number(words[*n_words + 1], value);
}

struct xr_agent_walk *xr_walk_make(char **words, int n_words, char *error, size_t error_size)
{
	static const char *const kinds[] = {"jumps", "pattern", "straight"};
	struct asked asked = {0};
	int kind = 0;
	struct xr_agent_walk *walk = NULL;

	while (kind < 3 && n_words > 0 && strcmp(words[0], kinds[kind]) != 0)
		kind++;
	int bad = n_words < 5 || kind == 3 || parse_number(words[1], &asked.region) ||
	          parse_number(words[2], &asked.bytes) || parse_number(words[3], &asked.seed) ||
	          parse_number(words[4], &asked.n_spans) || take_last(words, &n_words, "data", &asked.data_bytes) ||
	          take_last(words, &n_words, "statements", &asked.statements);
	if (bad || asked.n_spans > (uint64_t)n_words || n_words != 5 + 3 * (int)asked.n_spans) {
		snprintf(error, error_size, "walk: words not understood");
		return NULL;
	}
	asked.span = calloc((size_t)asked.n_spans + 1, sizeof *asked.span);
	for (size_t i = 0; asked.span && !bad && i < asked.n_spans; i++) {
		char **at = words + 5 + 3 * i;
		bad = parse_number(at[0], &asked.span[i].base) || parse_number(at[1], &asked.span[i].stride) ||
		      parse_number(at[2], &asked.span[i].count);
	}
	if (!asked.span || bad)
		snprintf(error, error_size, asked.span ? "walk: not a number" : "out of memory");
	else
		walk = make((enum walk_kind)kind, &asked, error, error_size);
	free(asked.span);
	if (walk && asked.data_bytes && keep_data(walk, asked.data_bytes, error, error_size) != 0) {
		xr_walk_free(walk);
		walk = NULL;
	}
	return walk;
}

static void read_data(size_t bytes)
{
	const volatile unsigned char *at = data;
	for (size_t i = 0; i < bytes; i += DATA_STEP)
		(void)at[i];
}

static double run_direct(struct xr_agent_walk *walk, unsigned long reps)
{
	const unsigned long laps = reps / walk->blocks + 1;
	xr_direct_run(walk->direct, laps);
	return (double)laps * (double)walk->blocks;
}

/* Two walks are compared to the cycle: the list of neither may have been left in an outer level by the other. */
static void bring_list(const struct xr_agent_walk *walk)
{
	enum { STEP = 16 / sizeof *walk->list }; /* no line is shorter */
	const volatile uint32_t *list = walk->list;
	for (size_t i = 0; i < walk->length; i += STEP)
		(void)list[i];
}

double xr_walk_run(struct xr_agent_walk *walk, unsigned long reps)
{
	if (walk->direct)
		return run_direct(walk, reps);
	const unsigned long per_visit = walk->kind == STRAIGHT ? XR_COPIES_STATEMENTS : 1;
	const unsigned long visits = (reps + per_visit - 1) / per_visit;
	const uintptr_t base = (uintptr_t)walk->region->base;
	unsigned long done = 0;

	if (exact &&
	    visits <= walk->length) /* in one piece: what comes in on the way here does so once, however long it is */
		walk->at = 0;
	if (exact && walk->kind != STRAIGHT)
		bring_list(walk);
	while (done < visits) {
		size_t left = walk->data_bytes ? walk->blocks - walk->at % walk->blocks : walk->length - walk->at;
		size_t part = visits - done < left ? visits - done : left;
		uint32_t *last = walk->list + walk->at + part;
		uint32_t kept = *last;
		*last = walk->region->finish + XR_COPIES_ENTRY;
		const uint32_t *first = walk->list + walk->at;
		((xr_copies_visit *)(base + *first))(first, base);
		*last = kept;
		done += part;
		walk->at = (walk->at + part) % walk->length;
		if (walk->data_bytes && part == left)
			read_data(walk->data_bytes);
	}
	return (double)done * (double)per_visit;
}

unsigned long xr_walk_lap(const struct xr_agent_walk *walk)
{
	return (unsigned long)walk->blocks * (walk->kind == STRAIGHT ? XR_COPIES_STATEMENTS : 1);
}

int xr_walk_in_order(const struct xr_agent_walk *walk)
{
	return walk->kind != JUMPS;
}

void xr_walk_exact(int times_repeat)
{
	exact = times_repeat;
}

double xr_walk_code_bytes(const struct xr_agent_walk *walk)
{
	if (walk->direct)
		return XR_DIRECT_GRID;
	return walk->kind == STRAIGHT ? (double)walk->region->grid / XR_COPIES_STATEMENTS : (double)walk->region->grid;
}

#else /* no way to copy code */

struct xr_agent_walk *xr_walk_make(char **words, int n_words, char *error, size_t error_size)
{
	(void)words;
	(void)n_words;
	snprintf(error, error_size, "unsupported: this target's toolchain gives no way to copy compiled code");
	return NULL;
}

double xr_walk_run(struct xr_agent_walk *walk, unsigned long reps)
{
	(void)walk;
	return (double)reps;
}

double xr_walk_code_bytes(const struct xr_agent_walk *walk)
{
	(void)walk;
	return 0;
}

unsigned long xr_walk_lap(const struct xr_agent_walk *walk)
{
	(void)walk;
	return 1;
}

int xr_walk_in_order(const struct xr_agent_walk *walk)
{
	(void)walk;
	return 1;
}

void xr_walk_exact(int times_repeat)
{
	(void)times_repeat;
}

#endif

void xr_walk_ready(struct xr_agent_walk *walk)
{
	/* From anywhere in the list, two laps hold a whole one. An order takes some laps until it is learnt, and
	 * a policy some until it has evicted what another walk left: on one core hundreds of laps over a full
	 * set. */
	enum { SETTLE = 8192, SETTLE_EXACT = 512 };
	if (walk->kind != STRAIGHT)
		xr_walk_run(walk, exact ? SETTLE_EXACT : SETTLE);
	xr_walk_run(walk, 2 * (unsigned long)walk->blocks * (walk->kind == STRAIGHT ? XR_COPIES_STATEMENTS : 1));
}

void xr_walk_free(struct xr_agent_walk *walk)
{
	if (!walk)
		return;
	xr_direct_free(walk->direct);
	free(walk->list);
	free(walk);
}
