/* SPDX-License-Identifier: MIT */
/* Flows of bytes, see flow.h.
 *
 * A kernel goes over blocks of a kilobyte, each a run of accesses without a branch between them, and wraps around
 * at the end of what the flow goes over without one either: neither a mispredicted end of a loop nor a call counts
 * for anything, not even where a block takes sixteen cycles. Loads are volatile, so that none is left out, and
 * nothing is done with what they bring: an addition would be timed as well. /
 */
#include "flow.h"

#include "buffer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { READ, WRITE, COPY, PAST, N_KINDS };
static const char *const kind_names[] = {"read", "write", "copy", "past", NULL};
static const char *const backing_names[] = {"small", "huge", "shuffled", "any", NULL};

enum {
	BLOCK = 1024,
	APART = 2112, /* bytes that a copy is out of step: a load just behind a store to the same place of a page waits */
	OP = 64,      /* bytes that count as one operation */
	READY_MOST = 8 << 20, /* bytes gone over before a sample: more than that stays in no cache by itself */
	N_WIDTHS = 4,
};

/* What there is to move: from `at` on, in blocks, until `end`, then from 0 again. */
struct way {
	unsigned char *base;
	size_t at, end;
	size_t lane;         /* bytes from one lane to the next */
	size_t to;           /* copy: from a byte to its place */
	unsigned long pause; /* steps of a chain after each block */
};

typedef void kernel_fn(struct way *way, size_t blocks);

static volatile uintptr_t one = 1;
static volatile uintptr_t sink;

/* So many dependent additions, for a flow that is to be slower than it could. */
static void rest(unsigned long steps)
{
	uintptr_t step = one, x = 0;

	for (; steps > 0; steps--) {
		x += step;
		x ^= steps; /* what changes nothing would be left out */
	}
	sink = x;
}

static size_t next(const struct way *way, size_t at, size_t by)
{
	at += by;
	return at >= way->end ? 0 : at;
}

#define RUN_OF_4(at_, i) at_(i) at_((i) + 1) at_((i) + 2) at_((i) + 3)
#define RUN_OF_16(at_, i) RUN_OF_4(at_, i) RUN_OF_4(at_, (i) + 4) RUN_OF_4(at_, (i) + 8) RUN_OF_4(at_, (i) + 12)
#define LOAD(i) (void)p[i];
#define STORE(i) p[i] = x;

/* NOLINTBEGIN(bugprone-macro-parentheses): types and attributes cannot be in parentheses */
/* V: the type of one access. A block is 16 of the widest. */
#define KERNELS(name, V, ATTRIBUTES)                                                                                   \
	ATTRIBUTES static void read_##name(struct way *way, size_t blocks)                                             \
	{                                                                                                              \
		size_t at = way->at, i;                                                                                \
		for (; blocks > 0; blocks--) {                                                                         \
			const volatile V *p = (const volatile V *)(const void *)(way->base + at);                      \
			for (i = 0; i < BLOCK / sizeof(V); i += 16) {                                                  \
				RUN_OF_16(LOAD, i)                                                                     \
			}                                                                                              \
			at = next(way, at, BLOCK);                                                                     \
			if (way->pause)                                                                                \
				rest(way->pause);                                                                      \
		}                                                                                                      \
		way->at = at;                                                                                          \
	}                                                                                                              \
	ATTRIBUTES static void lanes_##name(struct way *way, size_t blocks)                                            \
	{                                                                                                              \
		size_t at = way->at, i, lane;                                                                          \
		for (; blocks > 0; blocks--) {                                                                         \
			for (lane = 0; lane < 4; lane++) {                                                             \
				const volatile V *p =                                                                  \
					(const volatile V *)(const void *)(way->base + at + lane * way->lane);         \
				for (i = 0; i < BLOCK / 4 / sizeof(V); i += 4) {                                       \
					RUN_OF_4(LOAD, i)                                                              \
				}                                                                                      \
			}                                                                                              \
			at = next(way, at, BLOCK / 4);                                                                 \
			if (way->pause)                                                                                \
				rest(way->pause);                                                                      \
		}                                                                                                      \
		way->at = at;                                                                                          \
	}                                                                                                              \
	ATTRIBUTES static void write_##name(struct way *way, size_t blocks)                                            \
	{                                                                                                              \
		size_t at = way->at, i;                                                                                \
		V x;                                                                                                   \
		memset(&x, 0x5a ^ (int)(blocks & 15), sizeof x);                                                       \
		for (; blocks > 0; blocks--) {                                                                         \
			volatile V *p = (volatile V *)(void *)(way->base + at);                                        \
			for (i = 0; i < BLOCK / sizeof(V); i += 16) {                                                  \
				RUN_OF_16(STORE, i)                                                                    \
			}                                                                                              \
			at = next(way, at, BLOCK);                                                                     \
			if (way->pause)                                                                                \
				rest(way->pause);                                                                      \
		}                                                                                                      \
		way->at = at;                                                                                          \
	}                                                                                                              \
	ATTRIBUTES static void copy_##name(struct way *way, size_t blocks)                                             \
	{                                                                                                              \
		size_t at = way->at, i;                                                                                \
		for (; blocks > 0; blocks--) {                                                                         \
			const volatile V *p = (const volatile V *)(const void *)(way->base + at);                      \
			volatile V *q = (volatile V *)(void *)(way->base + at + way->to);                              \
			for (i = 0; i < BLOCK / sizeof(V); i += 8) {                                                   \
				V a = p[i], b = p[i + 1], c = p[i + 2], d = p[i + 3];                                  \
				V e = p[i + 4], f = p[i + 5], g = p[i + 6], h = p[i + 7];                              \
				q[i] = a, q[i + 1] = b, q[i + 2] = c, q[i + 3] = d;                                    \
				q[i + 4] = e, q[i + 5] = f, q[i + 6] = g, q[i + 7] = h;                                \
			}                                                                                              \
			at = next(way, at, BLOCK);                                                                     \
			if (way->pause)                                                                                \
				rest(way->pause);                                                                      \
		}                                                                                                      \
		way->at = at;                                                                                          \
	}

/* Stores past the caches. INSN: the instruction, with the place as %0 and the value as %1; ending: what waits for
 * them. */
#define KERNEL_PAST(name, V, ATTRIBUTES, INSN, CONSTRAINT, ENDING)                                                     \
	ATTRIBUTES static void past_##name(struct way *way, size_t blocks)                                             \
	{                                                                                                              \
		size_t at = way->at, i;                                                                                \
		V x;                                                                                                   \
		memset(&x, 0x5a ^ (int)(blocks & 15), sizeof x);                                                       \
		for (; blocks > 0; blocks--) {                                                                         \
			V *p = (V *)(void *)(way->base + at);                                                          \
			for (i = 0; i < BLOCK / sizeof(V); i++)                                                        \
				__asm__ volatile(INSN : "=m"(p[i]) : CONSTRAINT(x));                                   \
			at = next(way, at, BLOCK);                                                                     \
			if (way->pause)                                                                                \
				rest(way->pause);                                                                      \
		}                                                                                                      \
		__asm__ volatile(ENDING : : : "memory");                                                               \
		way->at = at;                                                                                          \
	}

KERNELS(word, uintptr_t, )
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__) || defined(__ARM_NEON) ||                        \
                          defined(__ALTIVEC__) || defined(__SSE2__))
#define HAVE_16
typedef long long vector16 __attribute__((vector_size(16)));
KERNELS(16, vector16, )
#if defined(__x86_64__)
typedef long long vector32 __attribute__((vector_size(32)));
typedef long long vector64 __attribute__((vector_size(64)));
KERNELS(32, vector32, __attribute__((target("avx"))))
KERNELS(64, vector64, __attribute__((target("avx512f"))))
KERNEL_PAST(word, uintptr_t, , "movnti %1, %0", "r", "sfence")
KERNEL_PAST(16, vector16, , "movntdq %1, %0", "x", "sfence")
KERNEL_PAST(32, vector32, __attribute__((target("avx"))), "vmovntdq %1, %0", "x", "sfence")
KERNEL_PAST(64, vector64, __attribute__((target("avx512f"))), "vmovntdq %1, %0", "v", "sfence")
#elif defined(__aarch64__)
/* a pair of registers at once is the only such store there is */
typedef long long vector32 __attribute__((vector_size(32)));
static void past_16(struct way *way, size_t blocks)
{
	size_t at = way->at, i;
	vector16 x;

	memset(&x, 0x5a ^ (int)(blocks & 15), sizeof x);
	for (; blocks > 0; blocks--) {
		vector32 *p = (vector32 *)(void *)(way->base + at);

		for (i = 0; i < BLOCK / sizeof *p; i++)
			__asm__ volatile("stnp %q1, %q1, %0" : "=Ump"(p[i]) : "w"(x));
		at = next(way, at, BLOCK);
		if (way->pause)
			rest(way->pause);
	}
	way->at = at;
}
#endif
#endif

struct kernels {
	unsigned width;
	kernel_fn *one_lane[N_KINDS], *lanes;
};

/* Widest first. `there` is asked of the machine: a kernel may use instructions that it has not. */
static const struct kernels kernels[N_WIDTHS] = {
#if defined(__GNUC__) && defined(__x86_64__)
	{64, {read_64, write_64, copy_64, past_64}, lanes_64},
	{32, {read_32, write_32, copy_32, past_32}, lanes_32},
	{16, {read_16, write_16, copy_16, past_16}, lanes_16},
	{sizeof(uintptr_t), {read_word, write_word, copy_word, past_word}, lanes_word},
#elif defined(__GNUC__) && defined(__aarch64__)
	{16, {read_16, write_16, copy_16, past_16}, lanes_16},
	{sizeof(uintptr_t), {read_word, write_word, copy_word, NULL}, lanes_word},
#elif defined(HAVE_16)
	{16, {read_16, write_16, copy_16, NULL}, lanes_16},
	{sizeof(uintptr_t), {read_word, write_word, copy_word, NULL}, lanes_word},
#else
	{sizeof(uintptr_t), {read_word, write_word, copy_word, NULL}, lanes_word},
#endif
};

static int there(unsigned width)
{
#if defined(__GNUC__) && defined(__x86_64__)
	__builtin_cpu_init();
	if (width == 64)
		return __builtin_cpu_supports("avx512f");
	if (width == 32)
		return __builtin_cpu_supports("avx");
#endif
	return width > 0;
}

/* The widest that the machine has, at most `width` bytes; 0: any. NULL: none is so narrow. */
static const struct kernels *find_kernels(unsigned width)
{
	int i;

	for (i = 0; i < N_WIDTHS; i++)
		if (there(kernels[i].width) && (!width || kernels[i].width <= width))
			return &kernels[i];
	return NULL;
}

struct xr_agent_flow {
	struct xr_agent_buffer *buffer;
	enum kind kind;
	const struct kernels *kernels;
	kernel_fn *run;
	struct way way;
	size_t bytes;
};

static int name_index(const char *const *names, const char *word)
{
	int i;

	for (i = 0; names[i]; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -1;
}

static struct xr_agent_flow *fail(struct xr_agent_flow *flow, char *error, size_t error_size, const char *text)
{
	snprintf(error, error_size, "%s", text);
	xr_flow_free(flow);
	return NULL;
}

/* What the kernels go over, in whole blocks of every lane. */
static void lay_out(struct xr_agent_flow *f, unsigned lanes)
{
	size_t share = f->bytes / (f->kind == COPY ? 2 : lanes);
	size_t step = lanes > 1 ? BLOCK / 4 : BLOCK;

	f->way.base = f->buffer->base;
	f->way.end = share / step * step;
	f->way.lane = f->way.end;
	f->way.to = f->way.end + APART;
}

struct xr_agent_flow *xr_flow_make(char **words, int n_words, char *error, size_t error_size)
{
	struct xr_agent_flow *f = calloc(1, sizeof *f);
	unsigned long long buffer_bytes;
	unsigned lanes, width;
	int kind, backing;

	if (!f)
		return fail(f, error, error_size, "no memory");
	if (n_words != 8)
		return fail(f, error, error_size, "flow: eight words expected");
	buffer_bytes = strtoull(words[1], NULL, 10);
	backing = name_index(backing_names, words[2]);
	kind = name_index(kind_names, words[3]);
	f->bytes = (size_t)strtoull(words[4], NULL, 10);
	width = (unsigned)strtoul(words[5], NULL, 10);
	lanes = (unsigned)strtoul(words[6], NULL, 10);
	f->way.pause = strtoul(words[7], NULL, 10);
	if (backing < 0 || kind < 0 || (lanes != 1 && (lanes != 4 || kind != READ)))
		return fail(f, error, error_size, "flow: not a flow");
	f->kind = (enum kind)kind;
	if (f->bytes > buffer_bytes || f->bytes < 2 * BLOCK || (f->kind == COPY && buffer_bytes - f->bytes < APART))
		return fail(f, error, error_size, "flow: does not fit its buffer");
	f->kernels = find_kernels(width);
	if (!f->kernels)
		return fail(f, error, error_size, "unsupported: no accesses as narrow as that");
	f->run = lanes > 1 ? f->kernels->lanes : f->kernels->one_lane[kind];
	if (!f->run)
		return fail(f, error, error_size,
		            "unsupported: no stores past the caches that a compiler here knows of");
	f->buffer = xr_buffer_get((unsigned)strtoul(words[0], NULL, 10), buffer_bytes, (enum xr_buffer_backing)backing);
	if (!f->buffer)
		return fail(f, error, error_size, "no memory for the buffer");
	lay_out(f, lanes);
	return f;
}

/* Flows over more than stays in a cache go on where the last one ended, whichever it was: what somebody went over
 * just before is still there. */
static void go_on(struct xr_agent_flow *flow)
{
	size_t step = flow->run == flow->kernels->lanes ? BLOCK / 4 : BLOCK;

	flow->way.at = flow->buffer->flowed / step * step;
	if (flow->way.at >= flow->way.end)
		flow->way.at = 0;
}

double xr_flow_run(struct xr_agent_flow *flow, unsigned long reps)
{
	double ops_of_block = (double)BLOCK / OP * (flow->kind == COPY ? 2 : 1);
	size_t blocks = (size_t)((double)reps / ops_of_block) + 1;

	if (flow->bytes > READY_MOST)
		go_on(flow);
	flow->run(&flow->way, blocks);
	flow->buffer->flowed = flow->way.at;
	return (double)blocks * ops_of_block;
}

void xr_flow_ready(struct xr_agent_flow *flow)
{
	size_t blocks = flow->bytes / BLOCK;

	xr_buffer_use(flow->buffer);
	if (flow->bytes <= READY_MOST)
		flow->run(&flow->way, 2 * blocks);
	else if (flow->buffer->owner != flow)
		xr_flow_run(flow, (unsigned long)(flow->bytes / 4 / OP));
	flow->buffer->owner = flow; /* stores may have been over somebody's links */
}

double xr_flow_width(const struct xr_agent_flow *flow)
{
	return flow->kernels->width;
}

void xr_flow_free(struct xr_agent_flow *flow)
{
	if (!flow)
		return;
	if (flow->buffer) {
		flow->buffer->users--;
		if (flow->buffer->owner == flow)
			flow->buffer->owner = NULL;
	}
	free(flow);
}
/* NOLINTEND(bugprone-macro-parentheses) */
