/* SPDX-License-Identifier: MIT */
/* The agent for boards, see bare.h. Every line it prints is `xray: WORDS #SUM`, the sum being that of the words'
 * characters, so that what a console adds, loses or garbles is noticed:
 *
 *   hello COST             ticks of a look at the counter
 *   about …                as agent.c says
 *   try I                  before specification I
 *   s I LONG OPS SHORT OPS a sample, times in ticks
 *   bad I REASON
 *   done
 */
#include "bare.h"

#include <limits.h>
#include <stddef.h>

#ifndef XR_TICK_BITS
#define XR_TICK_BITS 32
#endif

/* From generated code, as in sample.h. */
extern void (*const xr_nano_table[])(unsigned long reps);
extern const int xr_nano_body[];
extern const int xr_nano_count;

static const unsigned long enough_ticks = 8000; /* of a sample: the counter's step does not matter */
static const unsigned long most_ticks = XR_TICK_BITS >= 32 ? 0x40000000ul : 1ul << (XR_TICK_BITS - 2);

enum { SAMPLES = 3 };

/* ---- the console ---- */

static unsigned sum;

static void put_text(const char *text)
{
	for (; *text; text++) {
		sum = (sum + (unsigned char)*text) & 0xffffu;
		xr_board_put(*text);
	}
}

static void put_number(unsigned long x)
{
	char digits[24];
	int n = (int)sizeof digits - 1;
	digits[n] = '\0';
	do {
		digits[--n] = (char)('0' + (int)(x % 10));
		x /= 10;
	} while (x);
	put_text(digits + n);
}

static void put_field(unsigned long x)
{
	put_text(" ");
	put_number(x);
}

static void begin_line(void)
{
	put_text("xray: ");
	sum = 0;
}

static void end_line(void)
{
	unsigned total = sum;
	put_text(" #");
	put_number(total);
	xr_board_put('\n');
}

/* ---- time ---- */

static unsigned long since(unsigned long start)
{
	unsigned long elapsed = xr_board_ticks() - start;
	return XR_TICK_BITS >= 32 ? elapsed & 0xfffffffful : elapsed & ((1ul << (XR_TICK_BITS % 32)) - 1);
}

/* ---- what is timed ---- */

static unsigned char *buffer_base(void)
{
	unsigned long at = (unsigned long)(size_t)xr_bare_buffer;
	return xr_bare_buffer + (xr_bare_align - at % xr_bare_align) % xr_bare_align;
}

static unsigned long chain_length(const struct xr_bare_spec *s)
{
	unsigned long n = 0;
	int i;
	for (i = 0; i < s->n_spans; i++)
		n += s->span[i].count;
	return n;
}

static void **place(const struct xr_bare_spec *s, unsigned long k)
{
	int i;
	for (i = 0; k >= s->span[i].count; i++)
		k -= s->span[i].count;
	return (void **)(void *)(buffer_base() + s->span[i].base + k * s->span[i].stride);
}

static unsigned long common_divisor(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* A ring through all places. Out of order: in steps that have no common divisor with their number, which needs no
 * table. */
static void *make_ring(const struct xr_bare_spec *s)
{
	unsigned long n = chain_length(s), step = 1, at = 0, next, i;
	if (s->shuffled && n > 4)
		for (step = n * 5 / 8; common_divisor(step, n) != 1;)
			step++;
	for (i = 0; i < n; i++, at = next) {
		next = (at + step) % n;
		*place(s, at) = place(s, next);
	}
	return place(s, 0);
}

/* 16 loads between two jumps, or 32: the difference is the loads' alone. */
#define LOAD p = *(void *volatile *)p;
#define LOAD4 LOAD LOAD LOAD LOAD
#define LOAD16 LOAD4 LOAD4 LOAD4 LOAD4

static void *volatile where;

static void follow_16(unsigned long turns)
{
	void *p = where;
	for (; turns; turns--) {
		LOAD16
	}
	where = p;
}

static void follow_32(unsigned long turns)
{
	void *p = where;
	for (; turns; turns--) {
		LOAD16 LOAD16
	}
	where = p;
}

typedef void work_fn(unsigned long turns);

/* Both are called in the same way: a branch more on one side would count. */
static work_fn *work_of(const struct xr_bare_spec *s, int twin)
{
	if (s->kind == XR_BARE_OPS)
		return xr_nano_table[twin ? s->twin : s->nano];
	return twin ? follow_32 : follow_16;
}

static unsigned long body(const struct xr_bare_spec *s, int twin)
{
	if (s->kind == XR_BARE_OPS)
		return (unsigned long)xr_nano_body[twin ? s->twin : s->nano];
	return twin ? 32 : 16;
}

static unsigned long timed(work_fn *volatile work, unsigned long turns)
{
	work_fn *const run = work;
	unsigned long start = xr_board_ticks();
	run(turns);
	return since(start);
}

/* ---- samples ---- */

static void say_sample(int i, unsigned long long_ticks, unsigned long long_ops, unsigned long short_ticks,
                       unsigned long short_ops)
{
	begin_line();
	put_text("s");
	put_field((unsigned long)i);
	put_field(long_ticks);
	put_field(long_ops);
	put_field(short_ticks);
	put_field(short_ops);
	end_line();
}

static void sample_clock(int i)
{
	enum { LOOKS = 64 };
	unsigned long start = xr_board_ticks(), elapsed = 0;
	int k;
	for (k = 0; k < LOOKS; k++)
		elapsed = since(start);
	say_sample(i, elapsed, LOOKS, 0, 0);
}

/* As many turns of the loop as of one with twice the statements; without such a one, two numbers of turns. */
static void sample_work(int i, const struct xr_bare_spec *s)
{
	int twin = s->kind == XR_BARE_CHAIN || s->twin >= 0, k;
	work_fn *work = work_of(s, 0), *other = work_of(s, twin);
	unsigned long turns = 1, lap = 1, n, t;
	if (s->kind == XR_BARE_CHAIN) {
		where = make_ring(s);
		n = chain_length(s);
		lap = n / common_divisor(n, 16); /* whole laps, so that each place counts alike */
		turns = lap;
		work((n + 15) / 16);
	}
	for (t = timed(work, turns); t < enough_ticks && turns < 0x10000ul * lap; t = timed(work, turns))
		turns *= 2;
	if (t > most_ticks && turns > lap)
		turns = lap;
	for (k = 0; k < SAMPLES; k++) {
		unsigned long brief, longer;
		work(1);
		brief = timed(work, turns);
		other(1);
		longer = timed(other, twin ? turns : 2 * turns);
		say_sample(i, longer, twin ? turns * body(s, 1) : 2 * turns * body(s, 0), brief, turns * body(s, 0));
	}
}

static void say_hello(void)
{
	static const unsigned one = 1;
	unsigned long start, cost;
	int i;
	xr_board_ticks();
	start = xr_board_ticks();
	for (i = 0; i < 15; i++)
		xr_board_ticks();
	cost = since(start);
	xr_board_put('\n'); /* what a reset put on the wire ends here */
	begin_line();
	put_text("hello");
	put_field(cost / 16);
	end_line();
	begin_line();
	put_text("about");
	put_field(CHAR_BIT);
	put_field(sizeof(short) * CHAR_BIT);
	put_field(sizeof(int) * CHAR_BIT);
	put_field(sizeof(long) * CHAR_BIT);
	put_field(sizeof(void *) * CHAR_BIT);
	put_field(sizeof(float) * CHAR_BIT);
	put_field(sizeof(double) * CHAR_BIT);
	put_text(*(const unsigned char *)&one ? " little" : " big");
	end_line();
}

int main(void)
{
	int i;
	xr_board_init();
	say_hello();
	for (i = 0; i < xr_bare_count; i++) {
		const struct xr_bare_spec *s = &xr_bare_specs[i];
		begin_line();
		put_text("try");
		put_field((unsigned long)i);
		end_line();
		if (s->kind == XR_BARE_CLOCK)
			sample_clock(i);
		else
			sample_work(i, s);
	}
	begin_line();
	put_text("done");
	end_line();
	return 0;
}
