/* SPDX-License-Identifier: MIT */
#include "target/host/nature.h"

#include "target/host/os.h"
#include "target/host/talk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A first call costs a machine a miss to memory and a page walk: below a thousand operations. A translator decodes,
 * chooses registers and writes code: ten thousand and more. */
static const double translated_ops = 3000;
/* Times the wall clock: a clock that keeps pace with it may seem to be off by the delays of a connection. */
static const double off_pace = 2;
static const double spin_s = 0.02; /* long against those delays */
/* A simulator may by accident be about as quick as what it simulates. Then work of this length tells: a true
 * clock goes with the wall's to less than this, and a machine that shares its CPU with others does not simulate
 * that evenly. */
static const double long_spin_s = 0.3, off_closely = 0.03;
static const double answer_s = 12;

static double now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

const char *xr_abi_words(struct xr_arena *arena, const int bits[7], const char *order)
{
	return xr_arena_printf(arena,
	                       "char %d, short %d, int %d, long %d, pointer %d, float %d, double %d bits, %s endian",
	                       bits[0], bits[1], bits[2], bits[3], bits[4], bits[5], bits[6], order);
}

/* long is what fits a register where there are 32 or 64 bits; below, int at most, and on an AVR a byte. */
int xr_abi_word(const struct xr_toolchain *tc, const int bits[7])
{
	if (tc->triple && !strncmp(tc->triple, "avr", 3))
		return 1;
	return (bits[2] < 32 ? bits[2] : bits[3]) / 8;
}

struct about {
	double fresh_ops;
	bool our_clock;
};

/* The answer begins with this word. */
static int ask(struct xr_host *h, const char *line, const char *word, const char **answer)
{
	bool unasked = h->baked; /* it was told before it was started */
	return (!unasked && xr_proc_send(&h->resident, line, strlen(line), &h->base.watch)) ||
	                       xr_talk_answer(h, &h->resident, word, answer_s, answer)
	               ? -1
	               : 0;
}

static int ask_about(struct xr_host *h, struct about *about)
{
	static const clockid_t clocks[] = {CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC};
	double before[2], clock_ns;
	int bits[7];
	char order[8];
	const char *line;
	for (int i = 0; i < 2; i++)
		before[i] = now_ns(clocks[i]);
	if (ask(h, "about\n", "about ", &line) ||
	    sscanf(line, "about %d %d %d %d %d %d %d %7s %lf %lf", &bits[0], &bits[1], &bits[2], &bits[3], &bits[4],
	           &bits[5], &bits[6], order, &about->fresh_ops, &clock_ns) != 10)
		return -1;
	about->our_clock = false;
	for (int i = 0; i < 2; i++)
		about->our_clock |= clock_ns >= before[i] && clock_ns <= now_ns(clocks[i]);
	h->base.info.abi = xr_abi_words(&h->base.arena, bits, order);
	h->base.info.word_bytes = xr_abi_word(&h->tc, bits);
	return 0;
}

/* What a program that cannot be talked to answers, one after the other: as xr_nature_find() asks. It is ended when enough
 * was heard. */
const char *const xr_nature_script[] = {
	"hello",        "about",        "spin 16",      "spin 32",      "spin 64",       "spin 128",
	"spin 256",     "spin 512",     "spin 1024",    "spin 2048",    "spin 4096",     "spin 8192",
	"spin 16384",   "spin 32768",   "spin 65536",   "spin 131072",  "spin 262144",   "spin 524288",
	"spin 1048576", "spin 2097152", "spin 4194304", "spin 8388608", "spin 16777216", NULL};

/* Runs the same work longer and longer until the wall clock notices; then once more. */
static int ask_pace(struct xr_host *h, double seconds, double *pace, double *mips)
{
	double ops = 0, ns = 0, before_ops = 0, before_ns = 0, wall_ns = 0, before_wall_ns = 0;
	char text[64];
	const char *line;
	for (unsigned long reps = 16; wall_ns < 1e9 * seconds && reps < (1ul << 28); reps *= 2) {
		before_ops = ops;
		before_ns = ns;
		before_wall_ns = wall_ns;
		snprintf(text, sizeof text, "spin %lu\n", reps);
		double start = now_ns(CLOCK_MONOTONIC);
		if (ask(h, text, "spun ", &line) || sscanf(line, "spun %lf %lf", &ops, &ns) != 2)
			return -1;
		wall_ns = now_ns(CLOCK_MONOTONIC) - start;
	}
	double wall = wall_ns - before_wall_ns;
	*pace = wall > 0 ? (ns - before_ns) / wall : 1;
	*mips = wall > 0 ? 1e3 * (ops - before_ops) / wall : 0;
	return 0;
}

int xr_nature_find(struct xr_host *h, const struct xr_target_words *words, struct xr_error *err)
{
	const enum xr_timing stated = words->timing;
	struct xr_target_info *info = &h->base.info;
	struct about about;
	double pace = 1, mips = 0;
	bool foreign = xr_os_is_foreign(h->resident_program);
	if (!h->runner && !foreign && stated == XR_TIMING_FIND_OUT)
		return 0;
	if (ask_about(h, &about) || ask_pace(h, spin_s, &pace, &mips))
		return xr_fail(err, XR_EXIT_TARGET, "the agent said hello, and then nothing of use");
	bool own_clock = !about.our_clock && (pace > off_pace || pace < 1 / off_pace);
	if (!about.our_clock && !own_clock && h->repeats == 1) {
		if (ask_pace(h, long_spin_s, &pace, &mips))
			return xr_fail(err, XR_EXIT_TARGET, "the agent said hello, and then nothing of use");
		own_clock = fabs(pace - 1) > off_closely;
	}
	bool translated = !own_clock && about.fresh_ops > translated_ops;
	info->emulated = own_clock || translated || (foreign && about.our_clock);
	info->exact = own_clock && h->repeats == 1 && stated != XR_TIMING_NO;
	if (!(info->mips > 0))
		info->mips = mips;
	if (stated == XR_TIMING_NO)
		info->untimed = "the target file says that times are not the target's";
	else if (stated == XR_TIMING_FIND_OUT && info->emulated && !own_clock)
		info->untimed = "emulated, no timing model";
	if (own_clock && !info->clock)
		info->clock = "simulated";
	if (!foreign && about.our_clock)
		return 0;
	static const int only = 0; /* this machine's CPUs are not the target's */
	info->cpu_ids = &only;
	info->n_cpus = 1;
	info->can_pin = false;
	info->cpu_used = -1;
	info->cpu_quota = 0;
	h->n_cpus = 0;
	h->cpu = -1;
	if (!words->cpu) /* what this machine is called does not matter there */
		info->cpu = info->triple ? info->triple : "";
	if (!words->os)
		info->os = "";
	return 0;
}
